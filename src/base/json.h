// JSON from files and requests: one parser with limits, and getters whose errors name the field.
// Everything here returns a Status instead of throwing, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace saccade {

// Json sorts the members of an object; OrderedJson keeps the order of the text (tool schemas are shown to the
// model as the client wrote them) and looks members up in linear time.
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

struct JsonLimits {
  size_t max_bytes = size_t{64} << 20;
  int max_depth = 64;         // nested objects and arrays
  size_t max_members = 2000;  // per object, OrderedJson only: bounds the linear lookups
  // Values in the whole text: "[0,0,0,..." needs eight times its own size in memory.
  size_t max_values = 4'000'000;
};

// Strict JSON (RFC 8259): no comments, no NaN, no bytes after the value, valid UTF-8 only. Of members with
// the same name the last one counts, as in Python. Syntax errors give the byte they were found at.
Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});
Result<OrderedJson> ParseOrderedJson(std::string_view text, const JsonLimits& limits = {});

// "object", "array", "string", "number", "boolean" or "null", for messages.
template <class J>
std::string_view JsonKind(const J& value);

// Getters for J = Json or OrderedJson. `object` must be a JSON object, anything else is an error. Three
// kinds:
//   FindX(object, key)           nullopt when the member is absent or null
//   GetX(object, key)            absent or null is an error
//   GetXOr(object, key, value)   `value` when absent or null
// A member of the wrong type or out of range is always an error; Status::param() is the key.
struct IntRange {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};
struct FloatRange {
  double min = std::numeric_limits<double>::lowest();
  double max = std::numeric_limits<double>::max();
};

// Whole numbers; "3.0" and "5e6" count as whole.
template <class J>
Result<std::optional<int64_t>> FindInt(const J& object, std::string_view key, IntRange range = {});
template <class J>
Result<std::optional<double>> FindFloat(const J& object, std::string_view key, FloatRange range = {});
template <class J>
Result<std::optional<bool>> FindBool(const J& object, std::string_view key);
template <class J>
Result<std::optional<std::string>> FindString(const J& object, std::string_view key);
// An array of whole numbers, each within `range`.
template <class J>
Result<std::optional<std::vector<int64_t>>> FindIntList(const J& object, std::string_view key,
                                                        IntRange range = {});
// A member that is itself an object or an array; nullptr when absent or null. Lives as long as `object`.
template <class J>
Result<const J*> FindObject(const J& object, std::string_view key);
template <class J>
Result<const J*> FindArray(const J& object, std::string_view key);

namespace internal {

Status MissingMember(std::string_view key);

template <class T>
Result<T> Required(Result<std::optional<T>> found, std::string_view key) {
  if (!found.ok()) return std::move(found).status();
  if (!found->has_value()) return MissingMember(key);
  return std::move(**found);
}

template <class T>
Result<T> OrDefault(Result<std::optional<T>> found, T fallback) {
  if (!found.ok()) return std::move(found).status();
  return found->has_value() ? std::move(**found) : std::move(fallback);
}

}  // namespace internal

template <class J>
Result<int64_t> GetInt(const J& object, std::string_view key, IntRange range = {}) {
  return internal::Required(FindInt(object, key, range), key);
}
template <class J>
Result<int64_t> GetIntOr(const J& object, std::string_view key, int64_t fallback, IntRange range = {}) {
  return internal::OrDefault(FindInt(object, key, range), fallback);
}
template <class J>
Result<double> GetFloat(const J& object, std::string_view key, FloatRange range = {}) {
  return internal::Required(FindFloat(object, key, range), key);
}
template <class J>
Result<double> GetFloatOr(const J& object, std::string_view key, double fallback, FloatRange range = {}) {
  return internal::OrDefault(FindFloat(object, key, range), fallback);
}
template <class J>
Result<bool> GetBool(const J& object, std::string_view key) {
  return internal::Required(FindBool(object, key), key);
}
template <class J>
Result<bool> GetBoolOr(const J& object, std::string_view key, bool fallback) {
  return internal::OrDefault(FindBool(object, key), fallback);
}
template <class J>
Result<std::string> GetString(const J& object, std::string_view key) {
  return internal::Required(FindString(object, key), key);
}
template <class J>
Result<std::string> GetStringOr(const J& object, std::string_view key, std::string fallback) {
  return internal::OrDefault(FindString(object, key), std::move(fallback));
}
template <class J>
Result<std::vector<int64_t>> GetIntList(const J& object, std::string_view key, IntRange range = {}) {
  return internal::Required(FindIntList(object, key, range), key);
}
template <class J>
Result<const J*> GetObject(const J& object, std::string_view key) {
  auto found = FindObject(object, key);
  return found.ok() && *found == nullptr ? Result<const J*>(internal::MissingMember(key)) : found;
}
template <class J>
Result<const J*> GetArray(const J& object, std::string_view key) {
  auto found = FindArray(object, key);
  return found.ok() && *found == nullptr ? Result<const J*>(internal::MissingMember(key)) : found;
}

}  // namespace saccade
