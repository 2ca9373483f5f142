#include "engine/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace saccade {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Binary, tokenizer, decoded pictures under way, sockets and the allocator's slack.
constexpr int64_t kReserveBytes = 256 * kMiB;

// Room for a good number of conversations about pictures when nobody says how many there will be.
constexpr int64_t kDefaultKvTokens = 32768;
// The least that makes sense: one picture of a thousand tokens with question and answer.
constexpr int64_t kLeastKvTokens = 2048;

// Up to here exact weights cost nothing that matters.
constexpr int64_t kSmallModelBytes = 512 * kMiB;

int64_t KvTokenBytes(const ModelConfig& config, KvType type) {
  constexpr int kPageTokens = 64;
  const KvLayout layout = {type, config.text.kv_heads, config.text.head_dim, kPageTokens};
  return static_cast<int64_t>(layout.PageBytes()) * config.text.layers / kPageTokens;
}

int64_t LargestPicturePatches(const ModelConfig& config, int64_t pixels) {
  return pixels / (int64_t{config.vision.patch_size} * config.vision.patch_size);
}

int64_t TextScratchBytes(const ModelConfig& config, const MemoryNeeds& needs) {
  const TextConfig& text = config.text;
  return static_cast<int64_t>(TextDecoder::ScratchBytes(text, needs.prefill_rows, needs.max_running)) +
         int64_t{needs.max_running} * text.vocab * 4;
}

}  // namespace

int64_t MemoryPlan::total_bytes() const {
  int64_t total = 0;
  for (const Part& part : parts) total += part.bytes;
  return total;
}

std::string MemoryPlan::Describe() const {
  std::string text;
  for (const Part& part : parts) {
    text += fmt::format("  {:<34}{:>8} MiB{}\n", part.name, part.bytes / kMiB,
                        part.flag.empty() ? "" : "   " + part.flag);
  }
  return text +
         fmt::format("  {:<34}{:>8} MiB of {} MiB\n", "together", total_bytes() / kMiB, limit_bytes / kMiB);
}

Result<MemoryPlan> PlanMemory(const ModelConfig& config, const MemoryNeeds& needs) {
  const WeightBytes weights = EstimateWeightBytes(config, needs.types);
  const int64_t token_bytes = KvTokenBytes(config, needs.kv);
  const auto vision_scratch = static_cast<int64_t>(
      VisionTower::JobBytes(config.vision, LargestPicturePatches(config, needs.largest_picture_pixels)));
  MemoryPlan plan;
  plan.limit_bytes = needs.limit_bytes;
  plan.parts = {
      {fmt::format("text weights ({})", WeightTypeName(needs.types.text)), weights.text, "--weights"},
      {fmt::format("vision weights ({})", WeightTypeName(needs.types.vision)), weights.vision,
       "--vision-weights"},
      {"largest picture in the vision tower", vision_scratch, ""},
      {"activations of a text step", TextScratchBytes(config, needs), "--max-running"},
      {"cache of encoded pictures", needs.image_cache_bytes, "--image-cache-mb"},
      {"reserve", kReserveBytes, ""}};
  const int64_t left = needs.limit_bytes - plan.total_bytes();
  const int64_t least = std::min(kLeastKvTokens, needs.context_tokens);
  const int64_t wanted = std::min(kDefaultKvTokens, needs.context_tokens * needs.max_running);
  plan.kv_tokens = needs.kv_tokens > 0 ? needs.kv_tokens : std::clamp(left / token_bytes, least, wanted);
  plan.parts.push_back({fmt::format("KV cache of {} tokens ({})", plan.kv_tokens, KvTypeName(needs.kv)),
                        plan.kv_tokens * token_bytes, "--kv-tokens, --kv"});
  if (plan.total_bytes() <= needs.limit_bytes) return plan;
  const WeightBytes smallest = EstimateWeightBytes(config, {WeightType::kInt4, WeightType::kInt8});
  const int64_t least_bytes = plan.total_bytes() - weights.total() + smallest.total() -
                              plan.kv_tokens * token_bytes + least * KvTokenBytes(config, KvType::kInt8);
  return ResourceExhausted(
      "this needs {} MiB but {} MiB of memory may be used; --weights int4 --vision-weights int8 --kv int8 "
      "--kv-tokens {} would need {} MiB\n{}",
      plan.total_bytes() / kMiB, needs.limit_bytes / kMiB, least, least_bytes / kMiB, plan.Describe());
}

WeightTypes ChooseWeightTypes(const ModelConfig& config, int64_t limit_bytes) {
  const int64_t exact = EstimateWeightBytes(config, {WeightType::kBf16, WeightType::kBf16}).total();
  if (exact <= kSmallModelBytes) return {WeightType::kBf16, WeightType::kBf16};
  const int64_t eight = EstimateWeightBytes(config, {WeightType::kInt8, WeightType::kInt8}).total();
  const bool roomy = eight <= limit_bytes / 2;
  return {roomy ? WeightType::kInt8 : WeightType::kInt4, WeightType::kInt8};
}

}  // namespace saccade
