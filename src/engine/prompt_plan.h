// What a request costs, from its text and the headers of its pictures alone: nothing is decoded or computed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/checkpoint.h"
#include "engine/request.h"

namespace saccade {

struct PicturePlan {
  Size original, resized;
  int64_t tokens = 0;
  std::optional<PixelLimits> limits;  // to resize with; auto_fit may have lowered those of the request
};

struct PromptPlan {
  std::vector<int32_t> text;  // token ids, one image token for each picture
  std::vector<PicturePlan> pictures;
  int64_t image_tokens = 0;
  int64_t prompt_tokens = 0;  // image tokens included
  int64_t max_tokens = 0;     // of the answer, at least 1; prompt_tokens + max_tokens fits the context
};

// Thread-safe. Fails with the part at fault in Status::param(), e.g. "pictures[1]"; with kInvalidArgument
// when the prompt does not fit `context_tokens` (the message has needed and available tokens). With auto_fit
// the largest pictures are planned smaller until the prompt leaves room for the answer.
Result<PromptPlan> PlanPrompt(const Checkpoint& checkpoint, const ChatInput& input, int64_t context_tokens);

std::span<const std::byte> BytesOf(const PictureInput& picture);
Status NamePicture(Status status, size_t index);  // names "pictures[index]"

}  // namespace saccade
