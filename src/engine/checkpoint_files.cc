#include "engine/checkpoint_files.h"

#include <optional>

#include "base/json.h"
#include "base/json_fields.h"

namespace saccade {
namespace {

constexpr size_t kMaxConfigBytes = 4 << 20;
constexpr double kMaxPenalty = 100;

// nullopt when the file is not there.
Result<std::optional<Json>> ReadOptionalJson(const FileSet& files, std::string_view name) {
  SACCADE_ASSIGN_OR_RETURN(const std::optional<std::string> text, files.ReadOptional(name, kMaxConfigBytes));
  if (!text) return std::optional<Json>();
  Result<Json> json = ParseJson(*text);
  if (!json.ok()) return std::move(json).status().WithContext(files.Where(name));
  return std::optional<Json>(std::move(json).value());
}

void ReadLimits(JsonFields& fields, PixelLimits& limits) {
  if (const Json* size = fields.Object("size")) {
    JsonFields edges(*size, "size");
    limits.min_pixels = edges.Int("shortest_edge", 1, kMaxResizedPixels, limits.min_pixels);
    limits.max_pixels = edges.Int("longest_edge", 1, kMaxResizedPixels, limits.max_pixels);
    if (!edges.status().ok()) fields.Fail(edges.status());
  }
  limits.min_pixels = fields.Int("min_pixels", 1, kMaxResizedPixels, limits.min_pixels);
  limits.max_pixels = fields.Int("max_pixels", 1, kMaxResizedPixels, limits.max_pixels);
}

Result<PreprocessorConfig> ParsePreprocessor(const Json& json) {
  JsonFields fields(json, "");
  PreprocessorConfig config;
  config.patch_size = static_cast<int>(fields.Int("patch_size", 1, 256, config.patch_size));
  config.merge_size = static_cast<int>(fields.Int("merge_size", 1, 256, config.merge_size));
  config.temporal_patch_size =
      static_cast<int>(fields.Int("temporal_patch_size", 1, 256, config.temporal_patch_size));
  ReadLimits(fields, config.limits);
  const std::vector<double> mean = fields.NumberList("image_mean", 3, {0.5, 0.5, 0.5});
  const std::vector<double> deviation = fields.NumberList("image_std", 3, {0.5, 0.5, 0.5});
  SACCADE_RETURN_IF_ERROR(fields.status());
  for (size_t channel = 0; channel < 3; ++channel) {
    config.mean[channel] = static_cast<float>(mean[channel]);
    config.std[channel] = static_cast<float>(deviation[channel]);
  }
  SACCADE_RETURN_IF_ERROR(CheckPreprocessorConfig(config));
  return config;
}

Result<GenerationDefaults> ParseGeneration(const Json& json, int64_t vocab) {
  JsonFields fields(json, "");
  GenerationDefaults defaults;
  SamplingParams& sampling = defaults.sampling;
  const bool do_sample = fields.Bool("do_sample", false);
  sampling.temperature =
      do_sample ? static_cast<float>(fields.Number("temperature", 0, kMaxPenalty, 1.0)) : 0.0F;
  sampling.top_k = static_cast<int>(fields.Int("top_k", 0, vocab, 0));
  sampling.top_p = static_cast<float>(fields.Number("top_p", 0, 1, 1.0));
  sampling.min_p = static_cast<float>(fields.Number("min_p", 0, 1, 0.0));
  sampling.repetition_penalty = static_cast<float>(fields.Number("repetition_penalty", 0, kMaxPenalty, 1.0));
  sampling.presence_penalty =
      static_cast<float>(fields.Number("presence_penalty", -kMaxPenalty, kMaxPenalty, 0.0));
  const auto end = json.is_object() ? json.find("eos_token_id") : json.end();
  if (end != json.end() && end->is_number()) {
    defaults.end_ids.push_back(static_cast<int32_t>(fields.Int("eos_token_id", 0, vocab - 1)));
  } else if (fields.Has("eos_token_id")) {
    for (int64_t id : fields.IntList("eos_token_id", 0, vocab - 1, 64))
      defaults.end_ids.push_back(static_cast<int32_t>(id));
  }
  SACCADE_RETURN_IF_ERROR(fields.status());
  return defaults;
}

template <class T>
Result<T> InFile(Result<T> result, const std::string& where) {
  if (!result.ok()) return std::move(result).status().WithContext(where);
  return result;
}

}  // namespace

Result<PreprocessorConfig> LoadPreprocessorConfig(const FileSet& files) {
  constexpr std::string_view kName = "preprocessor_config.json", kProcessorName = "processor_config.json";
  SACCADE_ASSIGN_OR_RETURN(const std::optional<Json> json, ReadOptionalJson(files, kName));
  if (json) return InFile(ParsePreprocessor(*json), files.Where(kName));
  SACCADE_ASSIGN_OR_RETURN(const std::optional<Json> processor, ReadOptionalJson(files, kProcessorName));
  if (!processor || !processor->is_object() || !processor->contains("image_processor")) {
    return NotFound("{} has neither preprocessor_config.json nor an image_processor in processor_config.json",
                    files.Where(""));
  }
  return InFile(ParsePreprocessor((*processor)["image_processor"]), files.Where(kProcessorName));
}

Result<GenerationDefaults> LoadGenerationDefaults(const FileSet& files, int64_t vocab) {
  constexpr std::string_view kName = "generation_config.json";
  SACCADE_ASSIGN_OR_RETURN(const std::optional<Json> json, ReadOptionalJson(files, kName));
  if (!json) {
    GenerationDefaults defaults;
    defaults.sampling.temperature = 0;
    return defaults;
  }
  return InFile(ParseGeneration(*json, vocab), files.Where(kName));
}

Result<TokenizerConfig> LoadTokenizerConfig(const FileSet& files) {
  SACCADE_ASSIGN_OR_RETURN(const std::optional<Json> json, ReadOptionalJson(files, "tokenizer_config.json"));
  TokenizerConfig config;
  if (!json || !json->is_object()) return config;
  // Some tools write model_max_length as a float such as 1e30, which means "no limit".
  if (const auto length = json->find("model_max_length"); length != json->end() && length->is_number()) {
    const double value = length->get<double>();
    if (value >= 1 && value <= 1e9) config.max_length = static_cast<int64_t>(value);
  }
  if (const auto token = json->find("eos_token"); token != json->end()) {
    if (token->is_string()) config.end_token = token->get<std::string>();
    if (token->is_object() && token->contains("content") && (*token)["content"].is_string()) {
      config.end_token = (*token)["content"].get<std::string>();
    }
  }
  return config;
}

}  // namespace saccade
