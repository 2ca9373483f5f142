// A conversation as the chat template needs it, and the parser of its JSON form in the spellings of OpenAI
// clients and of Hugging Face. Fetching and decoding the pictures is left to the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace saccade {

enum class Role : uint8_t { kSystem, kUser, kAssistant, kTool };

struct ContentPart {
  enum class Kind : uint8_t { kText, kImage, kVideo };
  Kind kind = Kind::kText;
  std::string text;  // of kText

  // Of kImage and kVideo, all as sent.
  std::string source;  // URL, data: URL or path; empty when the client named none
  std::optional<int64_t> min_pixels, max_pixels;
  std::string detail;
  // Of pictures that may be documents.
  std::string filename;  // as the client calls it; for messages and labels only
  std::string pages;     // "1-3,8"
  std::optional<double> dpi;
  std::string param;  // "messages[0].content[1].image_url": what to name when the source turns out to be bad
};

struct ToolCall {
  std::string id;
  std::string name;
  OrderedJson arguments;  // an object, or a string that holds JSON text
};

struct Message {
  Role role = Role::kUser;
  std::vector<ContentPart> parts;
  // True: the content was a plain string and stands in parts[0]. An empty string and an empty part list
  // render differently before tool calls.
  bool content_is_string = true;
  std::vector<ToolCall> tool_calls;  // of kAssistant
  std::string tool_call_id;          // of kTool

  static Message Text(Role role, std::string text);
  // Whether a template would take the content for true.
  bool HasContent() const {
    return content_is_string ? !parts.empty() && !parts[0].text.empty() : !parts.empty();
  }
};

struct Conversation {
  std::vector<Message> messages;
  OrderedJson tools;                  // an array of tool descriptions; null or empty: none
  bool add_vision_id = false;         // "Picture 1: " before each picture
  bool add_generation_prompt = true;  // end with the start of the assistant's turn

  // The image parts of user and tool messages in order: picture i of the prompt is the i-th of these.
  std::vector<const ContentPart*> Images() const;
};

// Parses the "messages" array. Strings, which may be whole pictures, are moved out of `messages`. Errors name
// the part at fault, e.g. messages[0].content[1].image_url. Accepted beyond the plain forms:
//   roles    "developer" counts as "system"; a system message may only come first, because the template drops
//   it
//            elsewhere
//   content  a string or a list of parts; null for assistants
//   parts    {"type": "text" | "input_text" | "output_text", "text"}
//            {"type": "image_url" | "input_image", "image_url": "..." or {"url", "detail"}}
//            {"type": "file", "file": {"file_data", "file_id", "filename"}}, a picture or document;
//            {"type": "input_file", ...} with the members beside the type
//            {"type": "image"} with or without one of "image", "image_url", "url", "path", "base64"
//            {"type": "video"}, {"type": "video_url", "video_url": ...} likewise
//            and "min_pixels", "max_pixels", "detail", "pages", "dpi" beside any of them
// Pictures are accepted in user and tool messages only. Unknown members are ignored.
Result<std::vector<Message>> ParseMessages(OrderedJson messages);

// Checks that `tools` is null or an array of objects.
Result<OrderedJson> ParseTools(OrderedJson tools);

// Parses {"messages", "tools", "add_vision_id", "add_generation_prompt"}; other members are ignored.
Result<Conversation> ParseConversation(OrderedJson request);

}  // namespace saccade
