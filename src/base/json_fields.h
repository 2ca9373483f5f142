// Reads many fields of one JSON object and reports the first fault once, at the end. For configuration files,
// where twenty fields in a row would otherwise drown in error plumbing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace saccade {

// JsonFields fields(object, "text_config");
// config.hidden = fields.Int("hidden_size", 1, 1 << 20);
// SACCADE_RETURN_IF_ERROR(fields.status());
// The object must outlive the reader. After a fault every getter returns a harmless value.
class JsonFields {
 public:
  JsonFields(const Json& object, std::string path);

  // Required when `fallback` is not given. null counts as absent.
  int64_t Int(std::string_view name, int64_t min, int64_t max,
              std::optional<int64_t> fallback = std::nullopt);
  double Number(std::string_view name, double min, double max, std::optional<double> fallback = std::nullopt);
  bool Bool(std::string_view name, bool fallback);
  std::string String(std::string_view name, std::optional<std::string> fallback = std::nullopt);
  std::vector<int64_t> IntList(std::string_view name, int64_t min, int64_t max, size_t max_entries);
  std::vector<double> NumberList(std::string_view name, size_t entries, std::vector<double> fallback);
  // The member itself when present, of object type and not null.
  const Json* Object(std::string_view name);
  bool Has(std::string_view name) const { return Find(name) != nullptr; }

  void Fail(Status status);
  const Status& status() const { return status_; }

 private:
  const Json* Find(std::string_view name) const;
  const Json* Require(std::string_view name, bool has_fallback);
  std::string Name(std::string_view name) const;

  const Json& object_;
  std::string path_;
  Status status_;
};

}  // namespace saccade
