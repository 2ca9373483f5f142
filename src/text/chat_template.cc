#include "text/chat_template.h"

#include <algorithm>
#include <string_view>

#include "text/python_json.h"

namespace saccade {
namespace {

constexpr std::string_view kImagePad = "<|image_pad|>";
constexpr std::string_view kVideoPad = "<|video_pad|>";

constexpr std::string_view kToolsIntro =
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>";
constexpr std::string_view kToolsOutro =
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    "<tool_call></tool_call> XML tags:\n<tool_call>\n"
    "{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n";

// Follows tests/golden/chat_template.jinja statement by statement.
class Renderer {
 public:
  explicit Renderer(const Conversation& conversation) : conversation_(conversation) {}

  RenderedPrompt Run() {
    RenderHead();
    for (size_t i = 0; i < conversation_.messages.size(); ++i) {
      switch (conversation_.messages[i].role) {
        case Role::kSystem:
          break;  // rendered by the head when it comes first, dropped elsewhere
        case Role::kUser:
          RenderUser(conversation_.messages[i]);
          break;
        case Role::kAssistant:
          RenderAssistant(conversation_.messages[i]);
          break;
        case Role::kTool:
          RenderToolResult(i);
          break;
      }
    }
    if (conversation_.add_generation_prompt) Template("<|im_start|>assistant\n");
    return std::move(prompt_);
  }

 private:
  void Template(std::string_view text) { Add(PromptPiece::Kind::kTemplate, std::string(text)); }
  void Plain(std::string text) { Add(PromptPiece::Kind::kPlain, std::move(text)); }
  void Add(PromptPiece::Kind kind, std::string text) {
    if (!text.empty()) prompt_.pieces.push_back({kind, std::move(text), 0});
  }

  bool IsTool(size_t i) const {
    return i < conversation_.messages.size() && conversation_.messages[i].role == Role::kTool;
  }

  void RenderHead() {
    const std::vector<Message>& messages = conversation_.messages;
    const bool has_system = !messages.empty() && messages[0].role == Role::kSystem;
    const OrderedJson& tools = conversation_.tools;
    const bool has_tools = tools.is_array() && !tools.empty();
    if (!has_tools && !has_system) return;
    Template("<|im_start|>system\n");
    if (has_system) RenderTexts(messages[0], PromptPiece::Kind::kPlain);
    if (!has_tools) return Template("<|im_end|>\n");
    if (has_system) Template("\n\n");
    Template(kToolsIntro);
    for (const OrderedJson& tool : tools) {
      Template("\n");
      Plain(DumpLikePython(tool));
    }
    Template(kToolsOutro);
  }

  // The text parts alone; pictures have no place in system and assistant messages.
  void RenderTexts(const Message& message, PromptPiece::Kind kind) {
    for (const ContentPart& part : message.parts) {
      if (part.kind == ContentPart::Kind::kText) Add(kind, part.text);
    }
  }

  void RenderParts(const Message& message) {
    for (const ContentPart& part : message.parts) {
      switch (part.kind) {
        case ContentPart::Kind::kText:
          Plain(part.text);
          break;
        case ContentPart::Kind::kImage:
          RenderVision("Picture", PromptPiece::Kind::kImage, kImagePad, prompt_.images);
          break;
        case ContentPart::Kind::kVideo:
          RenderVision("Video", PromptPiece::Kind::kVideo, kVideoPad, prompt_.videos);
          break;
      }
    }
  }

  void RenderVision(std::string_view noun, PromptPiece::Kind kind, std::string_view pad, int& count) {
    if (conversation_.add_vision_id) Template(fmt::format("{} {}: ", noun, count + 1));
    Template("<|vision_start|>");
    prompt_.pieces.push_back({kind, std::string(pad), count++});
    Template("<|vision_end|>");
  }

  void RenderUser(const Message& message) {
    Template("<|im_start|>user\n");
    RenderParts(message);
    Template("<|im_end|>\n");
  }

  void RenderAssistant(const Message& message) {
    Template("<|im_start|>assistant\n");
    RenderTexts(message, PromptPiece::Kind::kModel);
    bool newline = message.HasContent();
    for (const ToolCall& call : message.tool_calls) {
      if (newline) Template("\n");
      newline = true;
      Template("<tool_call>\n{\"name\": \"");
      Plain(call.name);
      Template("\", \"arguments\": ");
      Plain(call.arguments.is_string() ? call.arguments.get<std::string>() : DumpLikePython(call.arguments));
      Template("}\n</tool_call>");
    }
    Template("<|im_end|>\n");
  }

  // Neighbouring tool results share one user turn.
  void RenderToolResult(size_t i) {
    if (i == 0 || !IsTool(i - 1)) Template("<|im_start|>user");
    Template("\n<tool_response>\n");
    RenderParts(conversation_.messages[i]);
    Template("\n</tool_response>");
    if (!IsTool(i + 1)) Template("<|im_end|>\n");
  }

  const Conversation& conversation_;
  RenderedPrompt prompt_;
};

// Collects text into runs and encodes a run when a recognised token interrupts it.
class PromptEncoder {
 public:
  PromptEncoder(const Tokenizer& tokenizer, const ChatMarks& marks) : tokenizer_(tokenizer), marks_(marks) {}

  void AddPiece(const PromptPiece& piece) {
    switch (piece.kind) {
      case PromptPiece::Kind::kTemplate:
        return AddRecognising(piece.text, Tokenizer::AddedTokens::kAll);
      case PromptPiece::Kind::kModel:
        return AddRecognising(piece.text, Tokenizer::AddedTokens::kNonSpecial);
      case PromptPiece::Kind::kPlain:
        run_ += piece.text;
        return;
      case PromptPiece::Kind::kImage:
        return AddToken(marks_.image_pad);
      case PromptPiece::Kind::kVideo:
        return AddToken(marks_.video_pad);
    }
  }

  std::vector<int32_t> Finish() {
    Flush();
    return std::move(ids_);
  }

 private:
  void Flush() {
    tokenizer_.Encode(run_, Tokenizer::AddedTokens::kNone, ids_);
    run_.clear();
  }
  void AddToken(int32_t id) {
    Flush();
    ids_.push_back(id);
  }

  // Control marks never come out of model text, even where a checkpoint declares them as not special.
  bool IsControlMark(int32_t id) const {
    return id == marks_.turn_start || id == marks_.turn_end || id == marks_.vision_start ||
           id == marks_.vision_end || id == marks_.image_pad || id == marks_.video_pad;
  }

  void AddRecognising(std::string_view text, Tokenizer::AddedTokens recognise) {
    size_t done = 0;
    for (size_t from = 0;;) {
      const auto match = tokenizer_.FindAddedToken(text, from, recognise);
      if (!match.has_value()) break;
      from = match->end;
      if (recognise != Tokenizer::AddedTokens::kAll && IsControlMark(match->id)) continue;
      run_ += text.substr(done, match->begin - done);
      AddToken(match->id);
      done = match->end;
    }
    run_ += text.substr(done);
  }

  const Tokenizer& tokenizer_;
  const ChatMarks marks_;
  std::string run_;
  std::vector<int32_t> ids_;
};

}  // namespace

std::string RenderedPrompt::Text() const {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

RenderedPrompt RenderChat(const Conversation& conversation) { return Renderer(conversation).Run(); }

Result<ChatMarks> FindChatMarks(const Tokenizer& tokenizer) {
  ChatMarks marks;
  const std::pair<std::string_view, int32_t*> wanted[] = {{"<|im_start|>", &marks.turn_start},
                                                          {"<|im_end|>", &marks.turn_end},
                                                          {"<|vision_start|>", &marks.vision_start},
                                                          {"<|vision_end|>", &marks.vision_end},
                                                          {kImagePad, &marks.image_pad},
                                                          {kVideoPad, &marks.video_pad}};
  for (const auto& [mark, id] : wanted) {
    const auto match = tokenizer.FindAddedToken(mark, 0, Tokenizer::AddedTokens::kAll);
    if (!match.has_value() || match->end - match->begin != mark.size()) {
      return Unsupported("the tokenizer has no token {}, which the chat template needs", mark);
    }
    *id = match->id;
  }
  return marks;
}

Result<std::vector<int32_t>> EncodePrompt(const Tokenizer& tokenizer, const RenderedPrompt& prompt) {
  SACCADE_ASSIGN_OR_RETURN(const ChatMarks marks, FindChatMarks(tokenizer));
  PromptEncoder encoder(tokenizer, marks);
  for (const PromptPiece& piece : prompt.pieces) encoder.AddPiece(piece);
  return encoder.Finish();
}

Result<std::vector<int32_t>> ExpandImages(std::span<const int32_t> ids, int32_t image_pad,
                                          std::span<const int64_t> counts) {
  const auto places = std::count(ids.begin(), ids.end(), image_pad);
  if (places != static_cast<std::ptrdiff_t>(counts.size())) {
    return InvalidArgument("the prompt has places for {} pictures, but {} were given", places, counts.size());
  }
  std::vector<int32_t> expanded;
  size_t next = 0;
  for (const int32_t id : ids) {
    if (id != image_pad) {
      expanded.push_back(id);
      continue;
    }
    if (counts[next] <= 0) return InvalidArgument("picture {} has {} tokens", next, counts[next]);
    expanded.insert(expanded.end(), static_cast<size_t>(counts[next++]), image_pad);
  }
  return expanded;
}

}  // namespace saccade
