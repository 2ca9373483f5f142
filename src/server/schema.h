// Fields of request bodies, each declared once: name, type, range, help and where the value goes. Requests
// are validated from the declarations and /openapi.json is generated from them, so the two cannot differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace saccade {

enum class FieldType : uint8_t {
  kBool,
  kInt,
  kNumber,
  kString,
  kStringOrList,  // a string or an array of strings
  kArray,
  kObject,
  kAny,
};

// What is declared about a field. Every member has a default so that declarations name only what they need.
struct FieldSpec {
  std::string_view name = {};
  FieldType type = FieldType::kAny;
  std::string_view help = {};
  double min = std::numeric_limits<double>::lowest();  // kInt, kNumber
  double max = std::numeric_limits<double>::max();
  size_t max_items = 0;           // kStringOrList, kArray; 0: no limit
  std::string_view choices = {};  // kString: accepted values, separated by '|'
  bool required = false;
  // False: a request that uses the field is refused with "not supported yet" instead of being answered
  // wrongly.
  bool supported = true;
};

// A field of an object that is read into a T.
template <class T>
struct Field {
  FieldSpec spec;
  void (*store)(T& out, const OrderedJson& value) = nullptr;
  // For unsupported fields: true for values that ask for nothing, such as an empty list of tools.
  bool (*harmless)(const OrderedJson& value) = nullptr;
};

// For Field::harmless of switches.
inline bool IsFalse(const OrderedJson& value) { return value.is_boolean() && !value.get<bool>(); }

// Type, range, choices. Status::param() is the field's name.
Status CheckField(const FieldSpec& spec, const OrderedJson& value);
Status MissingField(const FieldSpec& spec);
Status UnsupportedField(const FieldSpec& spec);
// The member of that name unless absent or null.
const OrderedJson* FindMember(const OrderedJson& object, std::string_view name);

// Reads all declared fields of `object` into `out`; members that are not declared are ignored, as OpenAI
// does.
template <class T>
Status ReadFields(const OrderedJson& object, std::span<const Field<T>> fields, T& out) {
  for (const Field<T>& field : fields) {
    const OrderedJson* value = FindMember(object, field.spec.name);
    if (value == nullptr) {
      if (field.spec.required) return MissingField(field.spec);
      continue;
    }
    if (!field.spec.supported) {
      if (field.harmless == nullptr || !field.harmless(*value)) return UnsupportedField(field.spec);
      continue;
    }
    SACCADE_RETURN_IF_ERROR(CheckField(field.spec, *value));
    if (field.store != nullptr) field.store(out, *value);
  }
  return OkStatus();
}

// The JSON Schema of one field, and of an object with these fields.
OrderedJson FieldSchema(const FieldSpec& spec);
template <class T>
OrderedJson ObjectSchema(std::span<const Field<T>> fields) {
  OrderedJson schema = {{"type", "object"}, {"properties", OrderedJson::object()}};
  OrderedJson required = OrderedJson::array();
  for (const Field<T>& field : fields) {
    schema["properties"][std::string(field.spec.name)] = FieldSchema(field.spec);
    if (field.spec.required) required.push_back(std::string(field.spec.name));
  }
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace saccade
