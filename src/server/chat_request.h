// The body of POST /v1/chat/completions: its fields, each declared once, and their reading.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/answer_options.h"
#include "server/request_pictures.h"
#include "server/schema.h"

namespace saccade {

// `generation` moves to input.options.
struct ChatRequest : AnswerOptions {
  ChatInput input;
  std::vector<std::string> picture_paths;  // where each picture of `input` stands in the request

  // As they came; used while the request is read.
  bool logprobs = false;
  bool pixel_boxes = false;  // "boxes": "pixels"
  int top_logprobs = 0;
  std::optional<int64_t> min_pixels, max_pixels;
  DocumentRequest documents;
};

// Reads and checks a request. Unknown fields are ignored; a known one of wrong type or range, or one that is
// not supported yet, is an error whose param() is its path.
Result<ChatRequest> ParseChatRequest(std::string_view body, const PicturePartOptions& options);

// The same error, naming the place in the request where it names "pictures[i]".
Status WithRequestPath(Status status, std::span<const std::string> picture_paths);

// JSON Schema of the body, for /openapi.json.
OrderedJson ChatRequestSchema();

}  // namespace saccade
