#include "engine/prompt_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace saccade {
namespace {

// Room that auto_fit leaves for the answer when the request names no max_tokens; at most a quarter of the
// context.
constexpr int64_t kDefaultAnswerTokens = 1024;

Result<std::vector<int32_t>> RawPrompt(const Checkpoint& checkpoint, const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) {
    if (id >= 0 && id < checkpoint.tokenizer.vocab_size()) continue;
    return InvalidArgument("token {} is not one of the model's, which are 0 to {}", id,
                           checkpoint.tokenizer.vocab_size() - 1)
        .WithParam("prompt");
  }
  return ids;
}

Result<std::vector<int32_t>> EncodeText(const Checkpoint& checkpoint, const ChatInput& input) {
  if (!input.prompt_tokens.empty()) return RawPrompt(checkpoint, input.prompt_tokens);
  const RenderedPrompt prompt = RenderChat(input.conversation);
  if (prompt.videos > 0)
    return Unsupported("videos are not supported yet; send single pictures").WithParam("messages");
  if (static_cast<size_t>(prompt.images) != input.pictures.size()) {
    return Internal("the conversation shows {} pictures but {} came with it", prompt.images,
                    input.pictures.size());
  }
  return EncodePrompt(checkpoint.tokenizer, prompt);
}

Result<std::vector<ImageInfo>> ReadHeaders(const ChatInput& input) {
  std::vector<ImageInfo> headers;
  for (size_t i = 0; i < input.pictures.size(); ++i) {
    Result<ImageInfo> info = ProbeImage(BytesOf(input.pictures[i]));
    if (!info.ok()) return NamePicture(std::move(info).status(), i);
    headers.push_back(*info);
  }
  return headers;
}

class PicturePlanner {
 public:
  PicturePlanner(const Checkpoint& checkpoint, const ChatInput& input, const std::vector<ImageInfo>& headers)
      : config_(checkpoint.preprocessor), input_(input), headers_(headers) {}

  // No picture larger than `cap_tokens`, when given.
  Result<std::vector<PicturePlan>> Plan(std::optional<int64_t> cap_tokens) const {
    std::vector<PicturePlan> plans;
    for (size_t i = 0; i < headers_.size(); ++i) {
      PicturePlan plan;
      plan.original = UprightSizeOf(headers_[i]);
      plan.limits = input_.pictures[i].limits;
      if (cap_tokens) plan.limits = Capped(plan.limits.value_or(config_.limits), *cap_tokens);
      Result<Size> size = PlannedSize(headers_[i], config_, plan.limits);
      if (!size.ok()) return NamePicture(std::move(size).status(), i);
      plan.resized = *size;
      plan.tokens = ImageTokens(*size, config_);
      plans.push_back(plan);
    }
    return plans;
  }

  // The plan with the largest cap that needs at most `budget` tokens; that with the smallest cap when none
  // does.
  Result<std::vector<PicturePlan>> Fit(int64_t budget) const {
    SACCADE_ASSIGN_OR_RETURN(std::vector<PicturePlan> plans, Plan(std::nullopt));
    if (Tokens(plans) <= budget) return plans;
    int64_t low = 1, high = 0;
    for (const PicturePlan& plan : plans) high = std::max(high, plan.tokens);
    while (low < high) {
      const int64_t middle = (low + high + 1) / 2;
      SACCADE_ASSIGN_OR_RETURN(const std::vector<PicturePlan> capped, Plan(middle));
      Tokens(capped) <= budget ? low = middle : high = middle - 1;
    }
    return Plan(low);
  }

  static int64_t Tokens(const std::vector<PicturePlan>& plans) {
    int64_t tokens = 0;
    for (const PicturePlan& plan : plans) tokens += plan.tokens;
    return tokens;
  }

 private:
  PixelLimits Capped(PixelLimits limits, int64_t cap_tokens) const {
    const int64_t pixels = cap_tokens * config_.factor() * config_.factor();
    return {std::min(limits.min_pixels, pixels), std::min(limits.max_pixels, pixels)};
  }

  const PreprocessorConfig& config_;
  const ChatInput& input_;
  const std::vector<ImageInfo>& headers_;
};

Status CheckLength(int64_t needed, int64_t image_tokens, int64_t context_tokens) {
  if (needed < context_tokens) return OkStatus();
  return InvalidArgument(
             "the prompt needs {} tokens ({} of them for pictures) and leaves no room for an answer in the "
             "{} available; "
             "send fewer or smaller pictures, or lower max_pixels",
             needed, image_tokens, context_tokens)
      .WithParam("messages");
}

}  // namespace

std::span<const std::byte> BytesOf(const PictureInput& picture) { return std::span(*picture.bytes); }

Status NamePicture(Status status, size_t index) {
  return std::move(status).WithParam(fmt::format("pictures[{}]", index));
}

Result<PromptPlan> PlanPrompt(const Checkpoint& checkpoint, const ChatInput& input, int64_t context_tokens) {
  PromptPlan plan;
  SACCADE_ASSIGN_OR_RETURN(plan.text, EncodeText(checkpoint, input));
  SACCADE_ASSIGN_OR_RETURN(const std::vector<ImageInfo> headers, ReadHeaders(input));
  const PicturePlanner planner(checkpoint, input, headers);
  const int64_t text_tokens =
      static_cast<int64_t>(plan.text.size()) - static_cast<int64_t>(input.pictures.size());
  const std::optional<int> asked = input.options.max_tokens;
  if (input.auto_fit) {
    const int64_t answer = asked ? *asked : std::min(kDefaultAnswerTokens, context_tokens / 4);
    const int64_t budget = std::max<int64_t>(0, context_tokens - text_tokens - answer);
    SACCADE_ASSIGN_OR_RETURN(plan.pictures, planner.Fit(budget));
  } else {
    SACCADE_ASSIGN_OR_RETURN(plan.pictures, planner.Plan(std::nullopt));
  }
  plan.image_tokens = PicturePlanner::Tokens(plan.pictures);
  plan.prompt_tokens = text_tokens + plan.image_tokens;
  SACCADE_RETURN_IF_ERROR(CheckLength(plan.prompt_tokens, plan.image_tokens, context_tokens));
  const int64_t room = context_tokens - plan.prompt_tokens;
  plan.max_tokens = asked ? std::min<int64_t>(*asked, room) : room;
  return plan;
}

}  // namespace saccade
