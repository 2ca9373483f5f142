// The chat template of Qwen3-VL (Instruct), written in C++: conversation to prompt text, and prompt to token
// ids. Recognising whether a checkpoint has this template is template_file's business.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/messages.h"
#include "text/tokenizer.h"

namespace saccade {

// A stretch of the prompt. What it may contain is decided by where it comes from, never by what it looks
// like.
struct PromptPiece {
  enum class Kind : uint8_t {
    kTemplate,  // written by the template: every added token in it counts
    kModel,     // an earlier answer: tokens a model writes itself count (<think>), control marks do not
    kPlain,     // from outside (system, user, tool): everything is text
    kImage,     // the place of picture `index`
    kVideo,     // the place of video `index`
  };
  Kind kind = Kind::kPlain;
  std::string text;  // of a picture: the one mark that stands for it
  int index = 0;     // counts from 0 in the order of the prompt
};

struct RenderedPrompt {
  std::vector<PromptPiece> pieces;
  int images = 0, videos = 0;

  // The prompt as one string: byte for byte what the reference renders.
  std::string Text() const;
};

RenderedPrompt RenderChat(const Conversation& conversation);

// Token ids of a prompt, with one <|image_pad|> for each picture. Text between two recognised tokens is
// encoded as one run, so the ids equal the reference's for every conversation without spoofed marks.
// kUnsupported when the tokenizer lacks a mark the template needs.
Result<std::vector<int32_t>> EncodePrompt(const Tokenizer& tokenizer, const RenderedPrompt& prompt);

// The marks that the template writes around pictures and turns, by id.
struct ChatMarks {
  int32_t turn_start = -1, turn_end = -1;      // <|im_start|>, <|im_end|>
  int32_t vision_start = -1, vision_end = -1;  // <|vision_start|>, <|vision_end|>
  int32_t image_pad = -1, video_pad = -1;      // <|image_pad|>, <|video_pad|>
};
Result<ChatMarks> FindChatMarks(const Tokenizer& tokenizer);

// Replaces the i-th occurrence of `image_pad` by counts[i] copies. kInvalidArgument when the numbers of
// occurrences and of counts differ or a count is not positive.
Result<std::vector<int32_t>> ExpandImages(std::span<const int32_t> ids, int32_t image_pad,
                                          std::span<const int64_t> counts);

}  // namespace saccade
