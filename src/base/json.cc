#include "base/json.h"

#include <cmath>
#include <exception>

#include "base/json_builder.h"

namespace saccade {
namespace {

template <class J>
Result<J> Parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return TooLarge("JSON text has {} bytes, the limit is {}", text.size(), limits.max_bytes);
  }
  // nlohmann takes a NUL byte for the end of the text and would ignore what follows.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return InvalidArgument("invalid JSON at byte {}: NUL byte", nul);
  }
  JsonBuilder<J> builder(limits);
  try {
    if (!J::sax_parse(text.begin(), text.end(), &builder)) return builder.status();
  } catch (const std::exception& error) {  // out of memory is all that is left
    return InvalidArgument("JSON could not be parsed: {}", error.what());
  }
  return builder.Take();
}

Status WrongType(std::string_view key, std::string_view wanted, std::string_view kind) {
  return InvalidArgument("\"{}\" must be {}, not {} {}", key, wanted,
                         kind == "object" || kind == "array" ? "an" : "a", kind)
      .WithParam(key);
}

Status OutOfRange(std::string_view key, const std::string& value, const std::string& min,
                  const std::string& max) {
  return InvalidArgument("\"{}\" is {}, accepted is {} to {}", key, value, min, max).WithParam(key);
}

// The member, or nullptr when it is absent or null.
template <class J>
Result<const J*> Find(const J& object, std::string_view key) {
  if (!object.is_object()) {
    return InvalidArgument("expected a JSON object with \"{}\", found {}", key, JsonKind(object));
  }
  const auto& members = object.template get_ref<const typename J::object_t&>();
  // Both map types compare with their own key type only, hence the copy.
  const auto member = members.find(std::string(key));
  const J* value = member == members.end() || member->second.is_null() ? nullptr : &member->second;
  return value;
}

// nullopt when `value` is no whole number or does not fit int64.
template <class J>
std::optional<int64_t> AsInt(const J& value) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (value.is_number_unsigned()) {
    const auto number = value.template get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.template get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.template get<double>();
  if (!(number >= -kTwo63 && number < kTwo63) || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

template <class J>
Result<int64_t> CheckedInt(const J& value, std::string_view name, IntRange range) {
  const std::optional<int64_t> number = AsInt(value);
  if (!number.has_value()) {
    if (value.is_number()) {
      return InvalidArgument("\"{}\" must be a whole number of at most 63 bits", name).WithParam(name);
    }
    return WrongType(name, "a whole number", JsonKind(value));
  }
  if (*number < range.min || *number > range.max) {
    return OutOfRange(name, fmt::format("{}", *number), fmt::format("{}", range.min),
                      fmt::format("{}", range.max));
  }
  return *number;
}

}  // namespace

Status JsonSyntaxError(size_t position, std::string_view library_message) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value -
  // invalid literal; last read: '...'"
  std::string_view reason = library_message;
  if (const size_t place = reason.find("column "); place != std::string_view::npos) {
    const size_t colon = reason.find(": ", place);
    if (colon != std::string_view::npos) reason.remove_prefix(colon + 2);
  } else if (const size_t bracket = reason.find("] "); bracket != std::string_view::npos) {
    reason.remove_prefix(bracket + 2);
  }
  reason = reason.substr(0, reason.find("; last read"));
  constexpr size_t kMaxReason = 200;  // an out-of-range number is quoted in full by the library
  return InvalidArgument("invalid JSON at byte {}: {}", position, reason.substr(0, kMaxReason));
}

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) { return Parse<Json>(text, limits); }

Result<OrderedJson> ParseOrderedJson(std::string_view text, const JsonLimits& limits) {
  return Parse<OrderedJson>(text, limits);
}

Status internal::MissingMember(std::string_view key) {
  return InvalidArgument("\"{}\" is missing", key).WithParam(key);
}

template <class J>
std::string_view JsonKind(const J& value) {
  return value.type_name();
}

template <class J>
Result<std::optional<int64_t>> FindInt(const J& object, std::string_view key, IntRange range) {
  SACCADE_ASSIGN_OR_RETURN(const J* member, Find(object, key));
  if (member == nullptr) return std::optional<int64_t>();
  SACCADE_ASSIGN_OR_RETURN(const int64_t number, CheckedInt(*member, key, range));
  return std::optional<int64_t>(number);
}

template <class J>
Result<std::optional<double>> FindFloat(const J& object, std::string_view key, FloatRange range) {
  SACCADE_ASSIGN_OR_RETURN(const J* member, Find(object, key));
  if (member == nullptr) return std::optional<double>();
  if (!member->is_number()) return WrongType(key, "a number", JsonKind(*member));
  const auto number = member->template get<double>();
  if (!(number >= range.min && number <= range.max)) {
    return OutOfRange(key, fmt::format("{}", number), fmt::format("{}", range.min),
                      fmt::format("{}", range.max));
  }
  return std::optional<double>(number);
}

template <class J>
Result<std::optional<bool>> FindBool(const J& object, std::string_view key) {
  SACCADE_ASSIGN_OR_RETURN(const J* member, Find(object, key));
  if (member == nullptr) return std::optional<bool>();
  if (!member->is_boolean()) return WrongType(key, "true or false", JsonKind(*member));
  return std::optional<bool>(member->template get<bool>());
}

template <class J>
Result<std::optional<std::string>> FindString(const J& object, std::string_view key) {
  SACCADE_ASSIGN_OR_RETURN(const J* member, Find(object, key));
  if (member == nullptr) return std::optional<std::string>();
  if (!member->is_string()) return WrongType(key, "a string", JsonKind(*member));
  return std::optional<std::string>(member->template get_ref<const std::string&>());
}

template <class J>
Result<std::optional<std::vector<int64_t>>> FindIntList(const J& object, std::string_view key,
                                                        IntRange range) {
  SACCADE_ASSIGN_OR_RETURN(const J* member, FindArray(object, key));
  if (member == nullptr) return std::optional<std::vector<int64_t>>();
  std::vector<int64_t> numbers;
  numbers.reserve(member->size());
  for (const J& item : *member) {
    const std::string name = fmt::format("{}[{}]", key, numbers.size());
    SACCADE_ASSIGN_OR_RETURN(const int64_t number, CheckedInt(item, name, range));
    numbers.push_back(number);
  }
  return std::optional(std::move(numbers));
}

template <class J>
Result<const J*> FindObject(const J& object, std::string_view key) {
  SACCADE_ASSIGN_OR_RETURN(const J* member, Find(object, key));
  if (member != nullptr && !member->is_object()) return WrongType(key, "an object", JsonKind(*member));
  return member;
}

template <class J>
Result<const J*> FindArray(const J& object, std::string_view key) {
  SACCADE_ASSIGN_OR_RETURN(const J* member, Find(object, key));
  if (member != nullptr && !member->is_array()) return WrongType(key, "an array", JsonKind(*member));
  return member;
}

#define SACCADE_INSTANTIATE_JSON(J)                                                                       \
  template std::string_view JsonKind(const J&);                                                           \
  template Result<std::optional<int64_t>> FindInt(const J&, std::string_view, IntRange);                  \
  template Result<std::optional<double>> FindFloat(const J&, std::string_view, FloatRange);               \
  template Result<std::optional<bool>> FindBool(const J&, std::string_view);                              \
  template Result<std::optional<std::string>> FindString(const J&, std::string_view);                     \
  template Result<std::optional<std::vector<int64_t>>> FindIntList(const J&, std::string_view, IntRange); \
  template Result<const J*> FindObject(const J&, std::string_view);                                       \
  template Result<const J*> FindArray(const J&, std::string_view);
SACCADE_INSTANTIATE_JSON(Json)
SACCADE_INSTANTIATE_JSON(OrderedJson)
#undef SACCADE_INSTANTIATE_JSON

}  // namespace saccade
