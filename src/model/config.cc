#include "model/config.h"

#include <cmath>

#include "base/json.h"
#include "base/json_fields.h"

namespace saccade {
namespace {

// Bounds far above any member of the family; they keep every product of two sizes inside int64.
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxLayers = 1024;

// rope_theta and mrope_section stand in rope_parameters (new) or beside and in rope_scaling (old).
void ReadRope(JsonFields& text, TextConfig& config) {
  const Json* rope = text.Object("rope_parameters");
  if (rope == nullptr) rope = text.Object("rope_scaling");
  if (rope == nullptr)
    return text.Fail(InvalidArgument("text_config has neither rope_parameters nor rope_scaling"));
  JsonFields fields(*rope, "text_config.rope");
  const std::string type = fields.String("rope_type", fields.String("type", "default"));
  if (type != "default" && type != "mrope") {
    return text.Fail(Unsupported("rope type \"{}\" is not supported, only \"default\"", type));
  }
  if (!fields.Bool("mrope_interleaved", true)) {
    return text.Fail(Unsupported("mrope_interleaved = false is another architecture (Qwen2-VL)"));
  }
  constexpr double kMaxTheta = 1e12;
  config.rope_theta = fields.Has("rope_theta") ? fields.Number("rope_theta", 1, kMaxTheta)
                                               : text.Number("rope_theta", 1, kMaxTheta, 5000000.0);
  const std::vector<int64_t> section = fields.IntList("mrope_section", 0, kMaxWidth, 3);
  if (!fields.status().ok()) return text.Fail(fields.status());
  if (section.size() != 3 || section[0] + section[1] + section[2] != config.head_dim / 2) {
    return text.Fail(InvalidArgument("mrope_section must be three numbers that add up to head_dim / 2 = {}",
                                     config.head_dim / 2));
  }
  // Interleaving writes h at 1, 4, 7... and w at 2, 5, 8...: 3 * section must stay inside the pairs.
  if (3 * section[1] > config.head_dim / 2 + 2 || 3 * section[2] > config.head_dim / 2 + 1) {
    return text.Fail(InvalidArgument("mrope_section {}, {}, {} cannot be interleaved", section[0], section[1],
                                     section[2]));
  }
  for (size_t axis = 0; axis < 3; ++axis) config.mrope_section[axis] = static_cast<int>(section[axis]);
}

Result<TextConfig> ReadText(const Json& json, bool top_level_tied) {
  JsonFields fields(json, "text_config");
  TextConfig config;
  config.vocab = fields.Int("vocab_size", 1, kMaxVocab);
  config.hidden = fields.Int("hidden_size", 1, kMaxWidth);
  config.intermediate = fields.Int("intermediate_size", 1, kMaxWidth);
  config.layers = static_cast<int>(fields.Int("num_hidden_layers", 1, kMaxLayers));
  config.q_heads = static_cast<int>(fields.Int("num_attention_heads", 1, 4096));
  config.kv_heads = static_cast<int>(fields.Int("num_key_value_heads", 1, 4096, config.q_heads));
  config.head_dim =
      static_cast<int>(fields.Int("head_dim", 2, 1024, config.hidden / std::max(1, config.q_heads)));
  config.rms_eps = static_cast<float>(fields.Number("rms_norm_eps", 0, 1, 1e-6));
  config.max_positions = fields.Int("max_position_embeddings", 1, int64_t{1} << 30, 32768);
  config.tied_head = fields.Bool("tie_word_embeddings", top_level_tied);
  if (const std::string act = fields.String("hidden_act", "silu"); act != "silu") {
    fields.Fail(Unsupported("text_config.hidden_act \"{}\" is not supported, only \"silu\"", act));
  }
  if (fields.Bool("attention_bias", false))
    fields.Fail(Unsupported("text_config.attention_bias is not supported"));
  if (config.head_dim % 2 != 0)
    fields.Fail(InvalidArgument("text_config.head_dim {} is odd", config.head_dim));
  if (config.q_heads % std::max(1, config.kv_heads) != 0) {
    fields.Fail(InvalidArgument("num_attention_heads {} is not a multiple of num_key_value_heads {}",
                                config.q_heads, config.kv_heads));
  }
  if (fields.status().ok()) ReadRope(fields, config);
  SACCADE_RETURN_IF_ERROR(fields.status());
  return config;
}

void CheckVision(const VisionConfig& config, JsonFields& fields) {
  if (config.hidden % config.heads != 0 || config.head_dim() % 4 != 0) {
    fields.Fail(
        InvalidArgument("vision hidden_size {} over num_heads {} must give a head size divisible by 4",
                        config.hidden, config.heads));
  }
  for (size_t i = 0; i < config.deepstack_layers.size(); ++i) {
    if (config.deepstack_layers[i] >= config.depth ||
        (i > 0 && config.deepstack_layers[i] <= config.deepstack_layers[i - 1])) {
      fields.Fail(
          InvalidArgument("deepstack_visual_indexes must rise and stay below depth {}", config.depth));
    }
  }
}

Result<VisionConfig> ReadVision(const Json& json) {
  JsonFields fields(json, "vision_config");
  VisionConfig config;
  config.depth = static_cast<int>(fields.Int("depth", 1, kMaxLayers));
  config.hidden = fields.Int("hidden_size", 1, kMaxWidth);
  config.intermediate = fields.Int("intermediate_size", 1, kMaxWidth);
  config.out_hidden = fields.Int("out_hidden_size", 1, kMaxWidth);
  config.heads = static_cast<int>(fields.Int("num_heads", 1, 4096));
  config.in_channels = static_cast<int>(fields.Int("in_channels", 3, 3, 3));
  config.patch_size = static_cast<int>(fields.Int("patch_size", 1, 128, 16));
  config.temporal_patch_size = static_cast<int>(fields.Int("temporal_patch_size", 1, 16, 2));
  config.merge_size = static_cast<int>(fields.Int("spatial_merge_size", 1, 16, 2));
  const int64_t positions = fields.Int("num_position_embeddings", 1, kMaxVocab);
  config.grid_side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(positions))));
  if (int64_t{config.grid_side} * config.grid_side != positions) {
    fields.Fail(InvalidArgument("vision_config.num_position_embeddings {} is not a square", positions));
  }
  for (int64_t layer : fields.IntList("deepstack_visual_indexes", 0, kMaxLayers, 64)) {
    config.deepstack_layers.push_back(static_cast<int>(layer));
  }
  const std::string act = fields.String("hidden_act", "gelu_pytorch_tanh");
  if (act == "gelu_pytorch_tanh") {
    config.activation = VisionActivation::kGeluTanh;
  } else if (act == "gelu") {
    config.activation = VisionActivation::kGeluErf;
  } else {
    fields.Fail(Unsupported("vision_config.hidden_act \"{}\" is not supported", act));
  }
  if (const Json* rope = fields.Object("rope_parameters")) {
    JsonFields rope_fields(*rope, "vision_config.rope_parameters");
    config.rope_theta = rope_fields.Number("rope_theta", 1, 1e12, 10000.0);
    if (!rope_fields.status().ok()) fields.Fail(rope_fields.status());
  }
  if (fields.status().ok()) CheckVision(config, fields);
  SACCADE_RETURN_IF_ERROR(fields.status());
  return config;
}

int32_t ReadToken(JsonFields& fields, std::string_view name, int64_t vocab) {
  return static_cast<int32_t>(fields.Int(name, 0, vocab - 1));
}

}  // namespace

int64_t ModelConfig::TextParameters() const {
  const int64_t attention =
      text.hidden * text.head_dim * (2 * text.q_heads + 2 * text.kv_heads) + 2 * text.head_dim;
  const int64_t layer = attention + 3 * text.hidden * text.intermediate + 2 * text.hidden;
  return text.layers * layer + text.hidden + text.vocab * text.hidden * (text.tied_head ? 1 : 2);
}

int64_t ModelConfig::VisionParameters() const {
  const int64_t h = vision.hidden, merged = h * vision.merged_patches();
  const int64_t patch =
      int64_t{3} * vision.temporal_patch_size * vision.patch_size * vision.patch_size * h + h;
  const int64_t block = 4 * h * h + 4 * h + 2 * h * vision.intermediate + vision.intermediate + h + 4 * h;
  const int64_t merger = merged * merged + merged + merged * vision.out_hidden + vision.out_hidden;
  const auto extra = static_cast<int64_t>(vision.deepstack_layers.size());
  return patch + int64_t{vision.grid_side} * vision.grid_side * h + vision.depth * block + merger + 2 * h +
         extra * (merger + 2 * merged);
}

Result<ModelConfig> ParseModelConfig(std::string_view text) {
  SACCADE_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  JsonFields fields(json, "");
  ModelConfig config;
  config.model_type = fields.String("model_type");
  SACCADE_RETURN_IF_ERROR(fields.status());
  if (config.model_type == "qwen3_vl_moe") {
    return Unsupported(
        "mixture-of-experts models (qwen3_vl_moe) are not supported yet; use a dense Qwen3-VL");
  }
  if (config.model_type != "qwen3_vl") {
    return Unsupported("model_type \"{}\" is not supported; Saccade runs \"qwen3_vl\"", config.model_type);
  }
  const Json* text_json = fields.Object("text_config");
  const Json* vision_json = fields.Object("vision_config");
  SACCADE_RETURN_IF_ERROR(fields.status());
  if (text_json == nullptr || vision_json == nullptr)
    return InvalidArgument("text_config or vision_config is missing");
  SACCADE_ASSIGN_OR_RETURN(config.text, ReadText(*text_json, fields.Bool("tie_word_embeddings", false)));
  SACCADE_ASSIGN_OR_RETURN(config.vision, ReadVision(*vision_json));
  if (config.vision.out_hidden != config.text.hidden) {
    return InvalidArgument("vision_config.out_hidden_size {} differs from text_config.hidden_size {}",
                           config.vision.out_hidden, config.text.hidden);
  }
  if (config.vision.deepstack_layers.size() > static_cast<size_t>(config.text.layers)) {
    return InvalidArgument("more DeepStack features than text layers");
  }
  config.image_token = ReadToken(fields, "image_token_id", config.text.vocab);
  config.video_token = ReadToken(fields, "video_token_id", config.text.vocab);
  config.vision_start_token = ReadToken(fields, "vision_start_token_id", config.text.vocab);
  config.vision_end_token = ReadToken(fields, "vision_end_token_id", config.text.vocab);
  SACCADE_RETURN_IF_ERROR(fields.status());
  return config;
}

}  // namespace saccade
