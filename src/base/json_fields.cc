#include "base/json_fields.h"

#include <fmt/format.h>

namespace saccade {

JsonFields::JsonFields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object_.is_object())
    Fail(InvalidArgument("{} is not an object", path_.empty() ? "the document" : path_));
}

std::string JsonFields::Name(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void JsonFields::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

const Json* JsonFields::Find(std::string_view name) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(std::string(name));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json* JsonFields::Require(std::string_view name, bool has_fallback) {
  const Json* value = Find(name);
  if (value == nullptr && !has_fallback) Fail(InvalidArgument("{} is missing", Name(name)));
  return value;
}

int64_t JsonFields::Int(std::string_view name, int64_t min, int64_t max, std::optional<int64_t> fallback) {
  const Json* value = Require(name, fallback.has_value());
  if (value == nullptr) return fallback.value_or(min);
  if (!value->is_number_integer() || (value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX) ||
      value->get<int64_t>() < min || value->get<int64_t>() > max) {
    Fail(InvalidArgument("{} must be a whole number from {} to {}", Name(name), min, max));
    return fallback.value_or(min);
  }
  return value->get<int64_t>();
}

double JsonFields::Number(std::string_view name, double min, double max, std::optional<double> fallback) {
  const Json* value = Require(name, fallback.has_value());
  if (value == nullptr) return fallback.value_or(min);
  if (!value->is_number() || !(value->get<double>() >= min && value->get<double>() <= max)) {
    Fail(InvalidArgument("{} must be a number from {} to {}", Name(name), min, max));
    return fallback.value_or(min);
  }
  return value->get<double>();
}

bool JsonFields::Bool(std::string_view name, bool fallback) {
  const Json* value = Find(name);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    Fail(InvalidArgument("{} must be true or false", Name(name)));
    return fallback;
  }
  return value->get<bool>();
}

std::string JsonFields::String(std::string_view name, std::optional<std::string> fallback) {
  const Json* value = Require(name, fallback.has_value());
  if (value == nullptr) return fallback.value_or("");
  if (!value->is_string()) {
    Fail(InvalidArgument("{} must be a string", Name(name)));
    return fallback.value_or("");
  }
  return value->get<std::string>();
}

std::vector<int64_t> JsonFields::IntList(std::string_view name, int64_t min, int64_t max,
                                         size_t max_entries) {
  const Json* value = Require(name, false);
  if (value == nullptr) return {};
  std::vector<int64_t> list;
  bool good = value->is_array() && value->size() <= max_entries;
  for (size_t i = 0; good && i < value->size(); ++i) {
    const Json& entry = (*value)[i];
    good = entry.is_number_integer() && entry.get<int64_t>() >= min && entry.get<int64_t>() <= max;
    if (good) list.push_back(entry.get<int64_t>());
  }
  if (!good) {
    Fail(InvalidArgument("{} must be a list of at most {} whole numbers from {} to {}", Name(name),
                         max_entries, min, max));
  }
  return list;
}

std::vector<double> JsonFields::NumberList(std::string_view name, size_t entries,
                                           std::vector<double> fallback) {
  const Json* value = Require(name, true);
  if (value == nullptr) return fallback;
  std::vector<double> list;
  bool good = value->is_array() && value->size() == entries;
  for (size_t i = 0; good && i < entries; ++i) {
    good = (*value)[i].is_number();
    if (good) list.push_back((*value)[i].get<double>());
  }
  if (!good) {
    Fail(InvalidArgument("{} must be a list of {} numbers", Name(name), entries));
    return fallback;
  }
  return list;
}

const Json* JsonFields::Object(std::string_view name) {
  const Json* value = Find(name);
  if (value != nullptr && !value->is_object()) {
    Fail(InvalidArgument("{} must be an object", Name(name)));
    return nullptr;
  }
  return value;
}

}  // namespace saccade
