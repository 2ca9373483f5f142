#include "text/tokenizer_file.h"

#include "base/json_builder.h"
#include "text/byte_level.h"

namespace saccade {
namespace {

// The published file of Qwen3-VL has 11 MB, 151,643 tokens and 151,387 merges.
constexpr size_t kMaxFileBytes = size_t{256} << 20;
constexpr size_t kMaxEntries = size_t{1} << 22;

// Parser events go to a tree, except inside model.vocab and model.merges, which would need some 100 MB as
// one.
class Reader {
 public:
  explicit Reader(TokenizerFile& file) : file_(file), tree_(JsonLimits{.max_values = 2'000'000}) {}

  Status status() const { return status_.ok() ? tree_.status() : status_; }
  Json TakeTree() { return tree_.Take(); }

  bool null() { return Tree() ? tree_.null() : WrongType(); }
  bool boolean(bool value) { return Tree() ? tree_.boolean(value) : WrongType(); }
  bool number_integer(int64_t value) { return Tree() ? tree_.number_integer(value) : AddToken(value); }
  bool number_unsigned(uint64_t value) {
    if (Tree()) return tree_.number_unsigned(value);
    return AddToken(value > INT64_MAX ? -1 : static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string& spelling) {
    return Tree() ? tree_.number_float(value, spelling) : WrongType();
  }
  template <class Binary>
  bool binary(Binary& value) {
    return tree_.binary(value);
  }
  bool string(std::string& value) { return Tree() ? tree_.string(value) : AddMergePart(value); }

  bool start_object(size_t size) {
    if (!Tree()) return WrongType();
    if (tree_.depth() == 1) in_model_ = tree_.pending_key() == "model";
    if (AtModelMember("vocab")) {
      place_ = Place::kVocab;
      return tree_.null();
    }
    return tree_.start_object(size);
  }
  bool end_object() {
    if (place_ != Place::kVocab) return tree_.end_object();
    place_ = Place::kTree;
    return true;
  }
  bool start_array(size_t size) {
    if (place_ == Place::kMerges) {
      place_ = Place::kPair;
      parts_ = 0;
      return true;
    }
    if (!Tree()) return WrongType();
    if (tree_.depth() == 1) in_model_ = false;
    if (AtModelMember("merges")) {
      place_ = Place::kMerges;
      return tree_.null();
    }
    return tree_.start_array(size);
  }
  bool end_array() {
    if (place_ == Place::kPair) {
      place_ = Place::kMerges;
      return parts_ == 2 ||
             Fail(InvalidArgument("model.merges[{}] has {} parts, not 2", file_.merges.size(), parts_));
    }
    if (place_ != Place::kMerges) return tree_.end_array();
    place_ = Place::kTree;
    return true;
  }
  bool key(std::string& name) {
    if (Tree()) return tree_.key(name);
    token_ = Store(name);
    return true;
  }
  template <class Exception>
  bool parse_error(size_t position, const std::string& last_token, const Exception& error) {
    return tree_.parse_error(position, last_token, error);
  }

 private:
  enum class Place { kTree, kVocab, kMerges, kPair };

  bool Tree() const { return place_ == Place::kTree; }
  bool AtModelMember(std::string_view name) const {
    return in_model_ && tree_.depth() == 2 && tree_.pending_key() == name;
  }
  bool Fail(Status status) {
    status_ = std::move(status);
    return false;
  }
  bool WrongType() {
    if (place_ == Place::kVocab)
      return Fail(InvalidArgument("model.vocab must map strings to whole numbers"));
    return Fail(InvalidArgument("model.merges must hold \"a b\" strings or [\"a\", \"b\"] pairs"));
  }

  TokenizerFile::Span Store(std::string_view spelling) {
    const auto offset = static_cast<uint32_t>(file_.arena.size());
    AppendSpelledBytes(spelling, file_.arena);
    return {offset, static_cast<uint32_t>(file_.arena.size()) - offset};
  }

  bool AddToken(int64_t id) {
    if (place_ != Place::kVocab) return WrongType();
    if (file_.vocab.size() >= kMaxEntries)
      return Fail(TooLarge("model.vocab has more than {} entries", kMaxEntries));
    file_.vocab.push_back({token_, id});
    return true;
  }

  bool AddMergePart(std::string_view text) {
    if (place_ == Place::kVocab) return WrongType();
    if (file_.merges.size() >= kMaxEntries) {
      return Fail(TooLarge("model.merges has more than {} entries", kMaxEntries));
    }
    if (place_ == Place::kPair) {
      ++parts_;
      if (parts_ == 1) token_ = Store(text);
      if (parts_ == 2) file_.merges.emplace_back(token_, Store(text));
      return true;
    }
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      return Fail(
          InvalidArgument("model.merges[{}] must be two tokens with one space between", file_.merges.size()));
    }
    const TokenizerFile::Span left = Store(text.substr(0, space));
    file_.merges.emplace_back(left, Store(text.substr(space + 1)));
    return true;
  }

  TokenizerFile& file_;
  JsonBuilder<Json> tree_;
  Status status_;
  Place place_ = Place::kTree;
  bool in_model_ = false;
  TokenizerFile::Span token_;  // the key of model.vocab, or the first part of a pair
  int parts_ = 0;
};

}  // namespace

Result<TokenizerFile> ParseTokenizerFile(std::string_view text) {
  if (text.size() > kMaxFileBytes) {
    return TooLarge("tokenizer.json has {} bytes, the limit is {}", text.size(), kMaxFileBytes);
  }
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    return JsonSyntaxError(nul, "NUL byte");
  TokenizerFile file;
  file.arena.reserve(text.size() / 3);
  Reader reader(file);
  try {
    if (!Json::sax_parse(text.begin(), text.end(), &reader)) return reader.status();
  } catch (const std::exception& error) {  // out of memory is all that is left
    return InvalidArgument("tokenizer.json could not be parsed: {}", error.what());
  }
  file.rest = reader.TakeTree();
  return file;
}

}  // namespace saccade
