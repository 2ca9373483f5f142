// Builds a Json or OrderedJson from parser events, within limits. Used by base/json and by readers that take
// the bulk of a file past the tree (the vocabulary of text/tokenizer_file).
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace saccade {

// The error for a syntax error reported by nlohmann's parser: the byte and the reason, never the text itself,
// which may be megabytes of somebody's picture.
Status JsonSyntaxError(size_t position, std::string_view library_message);

// A SAX handler for nlohmann::json::sax_parse. Thread-compatible. Events return false to stop the parser;
// then status() says why. The tree is in Take() after success.
template <class J>
class JsonBuilder {
 public:
  explicit JsonBuilder(const JsonLimits& limits) : limits_(limits) {}

  const Status& status() const { return status_; }
  J Take() { return std::move(root_); }
  // Open containers, the root included.
  size_t depth() const { return open_.size(); }
  // The key that the next value belongs to.
  const std::string& pending_key() const { return key_; }

  bool null() { return Add(J(nullptr)) != nullptr; }
  bool boolean(bool value) { return Add(J(value)) != nullptr; }
  bool number_integer(int64_t value) { return Add(J(value)) != nullptr; }
  bool number_unsigned(uint64_t value) { return Add(J(value)) != nullptr; }
  bool number_float(double value, const std::string& /*spelling*/) { return Add(J(value)) != nullptr; }
  bool string(std::string& value) { return Add(J(std::move(value))) != nullptr; }
  template <class Binary>
  bool binary(Binary& /*value*/) {
    return Fail(InvalidArgument("binary values are not JSON"));
  }
  bool start_object(size_t /*size*/) { return Open(J::object()); }
  bool start_array(size_t /*size*/) { return Open(J::array()); }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool end_object() {
    if constexpr (kOrdered) RemoveDuplicates(open_.back()->template get_ref<typename J::object_t&>());
    open_.pop_back();
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  template <class Exception>
  bool parse_error(size_t position, const std::string& /*last_token*/, const Exception& error) {
    return Fail(JsonSyntaxError(position, error.what()));
  }

 private:
  static constexpr bool kOrdered = std::is_same_v<J, OrderedJson>;

  bool Fail(Status status) {
    status_ = std::move(status);
    return false;
  }

  bool Open(J empty) {
    if (open_.size() >= static_cast<size_t>(limits_.max_depth)) {
      return Fail(InvalidArgument("JSON is nested more than {} levels deep", limits_.max_depth));
    }
    J* added = Add(std::move(empty));
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }

  // The place of the value in the tree; nullptr after a limit was hit.
  J* Add(J value) {
    if (++values_ > limits_.max_values) {
      Fail(TooLarge("JSON holds more than {} values", limits_.max_values));
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    J& parent = *open_.back();
    if (parent.is_array()) {
      auto& items = parent.template get_ref<typename J::array_t&>();
      items.push_back(std::move(value));
      return &items.back();
    }
    auto& members = parent.template get_ref<typename J::object_t&>();
    if constexpr (kOrdered) {
      if (members.size() >= limits_.max_members) {
        Fail(TooLarge("a JSON object has more than {} members", limits_.max_members));
        return nullptr;
      }
      // Past ordered_map's own insertion, which searches all members each time.
      members.emplace_back(std::move(key_), std::move(value));
      return &members.back().second;
    } else {
      J& slot = members[std::move(key_)];
      slot = std::move(value);
      return &slot;
    }
  }

  // Keeps the place of the first and the value of the last member of each name, like a Python dict.
  static void RemoveDuplicates(OrderedJson::object_t& members) {
    auto* const items = members.data();  // operator[] of an ordered_map is a search by key
    std::vector<size_t> order(members.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return items[a].first < items[b].first; });
    std::vector<bool> drop(members.size(), false);
    bool any = false;
    for (size_t first = 0, last = 0; first < order.size(); first = last + 1) {
      last = first;
      while (last + 1 < order.size() && items[order[last + 1]].first == items[order[first]].first) ++last;
      if (last == first) continue;
      any = true;
      items[order[first]].second = std::move(items[order[last]].second);
      for (size_t i = first + 1; i <= last; ++i) drop[order[i]] = true;
    }
    if (!any) return;
    OrderedJson::object_t kept;
    for (size_t i = 0; i < members.size(); ++i) {
      if (!drop[i]) kept.emplace_back(items[i].first, std::move(items[i].second));
    }
    members = std::move(kept);
  }

  const JsonLimits limits_;
  Status status_;
  J root_;
  std::string key_;
  std::vector<J*> open_;  // containers that have not ended; a pointer stays valid while its container is open
  size_t values_ = 0;
};

}  // namespace saccade
