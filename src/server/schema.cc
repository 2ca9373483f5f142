#include "server/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace saccade {
namespace {

constexpr double kNoMin = std::numeric_limits<double>::lowest(), kNoMax = std::numeric_limits<double>::max();

std::vector<std::string> SplitChoices(std::string_view choices) {
  std::vector<std::string> list;
  while (!choices.empty()) {
    const size_t bar = choices.find('|');
    list.emplace_back(choices.substr(0, bar));
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 1);
  }
  return list;
}

std::string_view TypeText(FieldType type) {
  switch (type) {
    case FieldType::kBool:
      return "true or false";
    case FieldType::kInt:
      return "a whole number";
    case FieldType::kNumber:
      return "a number";
    case FieldType::kString:
      return "a string";
    case FieldType::kStringOrList:
      return "a string or a list of strings";
    case FieldType::kArray:
      return "a list";
    case FieldType::kObject:
      return "an object";
    case FieldType::kAny:
      return "a value";
  }
  return "a value";
}

// 3.0 is a whole number in JSON, and some clients send it so.
bool IsWhole(const OrderedJson& value) {
  return value.is_number_integer() ||
         (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
}

bool HasType(FieldType type, const OrderedJson& value) {
  switch (type) {
    case FieldType::kBool:
      return value.is_boolean();
    case FieldType::kInt:
      return IsWhole(value);
    case FieldType::kNumber:
      return value.is_number();
    case FieldType::kString:
      return value.is_string();
    case FieldType::kStringOrList:
      return value.is_string() ||
             (value.is_array() &&
              std::all_of(value.begin(), value.end(), [](const auto& item) { return item.is_string(); }));
    case FieldType::kArray:
      return value.is_array();
    case FieldType::kObject:
      return value.is_object();
    case FieldType::kAny:
      return true;
  }
  return false;
}

std::string RangeText(const FieldSpec& spec) {
  const bool low = spec.min != kNoMin, high = spec.max != kNoMax;
  if (low && spec.min == spec.max) return fmt::format(", and only {} is possible so far", spec.min);
  if (low && high) return fmt::format(" from {} to {}", spec.min, spec.max);
  if (low) return fmt::format(" of at least {}", spec.min);
  if (high) return fmt::format(" of at most {}", spec.max);
  return "";
}

Status Wrong(const FieldSpec& spec, std::string_view expected) {
  return InvalidArgument("{} must be {}", spec.name, expected).WithParam(spec.name);
}

}  // namespace

Status CheckField(const FieldSpec& spec, const OrderedJson& value) {
  const bool numeric = spec.type == FieldType::kInt || spec.type == FieldType::kNumber;
  if (!HasType(spec.type, value)) {
    return InvalidArgument("{} must be {}{}, not {}", spec.name, TypeText(spec.type),
                           numeric ? RangeText(spec) : "", value.type_name())
        .WithParam(spec.name);
  }
  if (numeric) {
    const double number = value.get<double>();
    if (!(number >= spec.min && number <= spec.max)) {
      return Wrong(spec, fmt::format("{}{}", TypeText(spec.type), RangeText(spec)));
    }
  }
  if (spec.max_items > 0 && value.is_array() && value.size() > spec.max_items) {
    return InvalidArgument("{} has {} entries, the limit is {}", spec.name, value.size(), spec.max_items)
        .WithParam(spec.name);
  }
  if (!spec.choices.empty()) {
    const auto choices = SplitChoices(spec.choices);
    if (std::find(choices.begin(), choices.end(), value.get_ref<const std::string&>()) == choices.end()) {
      return Wrong(spec, fmt::format("one of {}", fmt::join(choices, ", ")));
    }
  }
  return OkStatus();
}

Status MissingField(const FieldSpec& spec) {
  return InvalidArgument("{} is missing; it must be {}", spec.name, TypeText(spec.type)).WithParam(spec.name);
}

Status UnsupportedField(const FieldSpec& spec) {
  return Unsupported("{} is not supported yet: {}", spec.name, spec.help).WithParam(spec.name);
}

const OrderedJson* FindMember(const OrderedJson& object, std::string_view name) {
  const auto& members = object.get_ref<const OrderedJson::object_t&>();
  for (const auto& [key, value] : members) {
    if (key == name) return value.is_null() ? nullptr : &value;
  }
  return nullptr;
}

OrderedJson FieldSchema(const FieldSpec& spec) {
  OrderedJson schema;
  switch (spec.type) {
    case FieldType::kBool:
      schema["type"] = {"boolean", "null"};
      break;
    case FieldType::kInt:
      schema["type"] = {"integer", "null"};
      break;
    case FieldType::kNumber:
      schema["type"] = {"number", "null"};
      break;
    case FieldType::kString:
      schema["type"] = {"string", "null"};
      break;
    case FieldType::kStringOrList:
      schema["type"] = {"string", "array", "null"};
      break;
    case FieldType::kArray:
      schema["type"] = {"array", "null"};
      break;
    case FieldType::kObject:
      schema["type"] = {"object", "null"};
      break;
    case FieldType::kAny:
      break;
  }
  if (spec.required && schema.contains("type")) schema["type"].erase(schema["type"].end() - 1);
  if (spec.type == FieldType::kStringOrList) schema["items"] = {{"type", "string"}};
  if (spec.min != kNoMin) schema["minimum"] = spec.min;
  if (spec.max != kNoMax) schema["maximum"] = spec.max;
  if (spec.max_items > 0) schema["maxItems"] = spec.max_items;
  if (!spec.choices.empty()) {
    OrderedJson choices = SplitChoices(spec.choices);
    choices.push_back(nullptr);
    schema["enum"] = std::move(choices);
  }
  schema["description"] = spec.supported ? std::string(spec.help)
                                         : fmt::format("Not supported yet, refused with 400: {}.", spec.help);
  return schema;
}

}  // namespace saccade
