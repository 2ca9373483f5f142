#include "server/answer_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace saccade {
namespace {

// Microseconds are enough.
double Rounded(double ms) { return static_cast<double>(static_cast<int64_t>(ms * 1000 + 0.5)) / 1000; }

OrderedJson Envelope(const ReplyHead& head, std::string_view object) {
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

OrderedJson TokenEntry(int32_t token, float logprob, const TokenBytesFunction& token_bytes) {
  const std::string bytes = token_bytes(token);
  OrderedJson byte_list = OrderedJson::array();
  for (const char byte : bytes) byte_list.push_back(static_cast<uint8_t>(byte));
  return {{"token", ReplaceInvalidUtf8(bytes)}, {"logprob", logprob}, {"bytes", std::move(byte_list)}};
}

// Characters that begin in these bytes.
int64_t CountCharacters(std::string_view bytes) {
  return std::count_if(bytes.begin(), bytes.end(),
                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

class ChatAnswers final : public AnswerFormat {
 public:
  std::string_view id_prefix() const override { return "chatcmpl-"; }
  std::string_view whole_object() const override { return "chat.completion"; }
  std::string_view chunk_object() const override { return "chat.completion.chunk"; }

  OrderedJson Logprobs(const LogprobPiece& piece) const override {
    OrderedJson entries = OrderedJson::array();
    for (const TokenLogprob& logprob : piece.logprobs) {
      OrderedJson entry = TokenEntry(logprob.token, logprob.logprob, piece.token_bytes);
      OrderedJson top = OrderedJson::array();
      for (const auto& [token, value] : logprob.top) {
        top.push_back(TokenEntry(token, value, piece.token_bytes));
      }
      entry["top_logprobs"] = std::move(top);
      entries.push_back(std::move(entry));
    }
    return {{"content", std::move(entries)}, {"refusal", nullptr}};
  }

  OrderedJson WholeChoice(int index, std::string_view text, OrderedJson logprobs,
                          FinishReason reason) const override {
    return {{"index", index},
            {"message", {{"role", "assistant"}, {"content", text}, {"refusal", nullptr}}},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", FinishReasonName(reason)}};
  }

  OrderedJson TextChoice(int index, std::string_view text, bool first, OrderedJson logprobs) const override {
    OrderedJson delta = Delta(first);
    delta["content"] = text;
    return Choice(index, std::move(delta), std::move(logprobs), nullptr);
  }

  OrderedJson LastChoice(int index, bool first, FinishReason reason) const override {
    return Choice(index, Delta(first), nullptr, FinishReasonName(reason));
  }

 private:
  static OrderedJson Delta(bool first) {
    return first ? OrderedJson{{"role", "assistant"}, {"content", ""}} : OrderedJson::object();
  }
  static OrderedJson Choice(int index, OrderedJson delta, OrderedJson logprobs, OrderedJson reason) {
    return {{"index", index},
            {"delta", std::move(delta)},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", std::move(reason)}};
  }
};

class TextAnswers final : public AnswerFormat {
 public:
  std::string_view id_prefix() const override { return "cmpl-"; }
  std::string_view whole_object() const override { return "text_completion"; }
  std::string_view chunk_object() const override { return "text_completion"; }

  OrderedJson Logprobs(const LogprobPiece& piece) const override {
    OrderedJson tokens = OrderedJson::array(), values = OrderedJson::array(), tops = OrderedJson::array(),
                offsets = OrderedJson::array();
    for (const TokenLogprob& logprob : piece.logprobs) {
      const std::string bytes = piece.token_bytes(logprob.token);
      tokens.push_back(ReplaceInvalidUtf8(bytes));
      values.push_back(logprob.logprob);
      OrderedJson top = OrderedJson::object();
      for (const auto& [token, value] : logprob.top)
        top[ReplaceInvalidUtf8(piece.token_bytes(token))] = value;
      tops.push_back(std::move(top));
      offsets.push_back(piece.offset);
      piece.offset += CountCharacters(bytes);
    }
    return {{"tokens", std::move(tokens)},
            {"token_logprobs", std::move(values)},
            {"top_logprobs", std::move(tops)},
            {"text_offset", std::move(offsets)}};
  }

  OrderedJson WholeChoice(int index, std::string_view text, OrderedJson logprobs,
                          FinishReason reason) const override {
    return Choice(index, text, std::move(logprobs), FinishReasonName(reason));
  }
  OrderedJson TextChoice(int index, std::string_view text, bool /*first*/,
                         OrderedJson logprobs) const override {
    return Choice(index, text, std::move(logprobs), nullptr);
  }
  OrderedJson LastChoice(int index, bool /*first*/, FinishReason reason) const override {
    return Choice(index, "", nullptr, FinishReasonName(reason));
  }

 private:
  static OrderedJson Choice(int index, std::string_view text, OrderedJson logprobs, OrderedJson reason) {
    return {{"index", index},
            {"text", text},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", std::move(reason)}};
  }
};

std::string_view StageName(ProgressEvent::Stage stage) {
  switch (stage) {
    case ProgressEvent::Stage::kQueued:
      return "queued";
    case ProgressEvent::Stage::kVision:
      return "encoding";
    case ProgressEvent::Stage::kPrefill:
      return "prefill";
    case ProgressEvent::Stage::kPages:
      return "pages";
  }
  return "?";
}

}  // namespace

std::string DumpJson(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

void AddPageAnswers(const std::vector<PageAnswer>& pages, OrderedJson& message) {
  OrderedJson citations = OrderedJson::array(), answers = OrderedJson::array();
  for (const PageAnswer& page : pages) {
    OrderedJson place = {{"page", page.page}};
    if (!page.document.empty()) place["document"] = page.document;
    if (page.cited) citations.push_back(place);
    place["text"] = page.text;
    place["confidence"] = Rounded(page.confidence);
    place["counts"] = page.counts;
    answers.push_back(std::move(place));
  }
  message["citations"] = std::move(citations);
  message["page_answers"] = std::move(answers);
}

OrderedJson UsageJson(const RequestUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details",
           {{"cached_tokens", usage.cached_tokens}, {"image_tokens", usage.image_tokens}}}};
}

OrderedJson TimingsJson(const RequestTimings& timings) {
  return {{"decode_image", Rounded(timings.decode_image)},
          {"resize", Rounded(timings.resize)},
          {"queue", Rounded(timings.queue)},
          {"vision", Rounded(timings.vision)},
          {"prefill", Rounded(timings.prefill)},
          {"decode", Rounded(timings.decode)},
          {"first_token", Rounded(timings.first_token)}};
}

OrderedJson ProgressJson(const ProgressEvent& progress) {
  return {{"stage", StageName(progress.stage)}, {"done", progress.done}, {"total", progress.total}};
}

std::string ProgressText(const ProgressEvent& progress) {
  if (progress.stage == ProgressEvent::Stage::kQueued) return fmt::format("queued {}", progress.done);
  return fmt::format("{} {}/{}", StageName(progress.stage), progress.done, progress.total);
}

const AnswerFormat& ChatFormat() {
  static const ChatAnswers format;
  return format;
}

const AnswerFormat& TextFormat() {
  static const TextAnswers format;
  return format;
}

std::string WholeJson(const AnswerFormat& format, const ReplyHead& head, OrderedJson choices,
                      const RequestUsage& usage, const RequestTimings& timings) {
  OrderedJson reply = Envelope(head, format.whole_object());
  reply["choices"] = std::move(choices);
  reply["usage"] = UsageJson(usage);
  reply["timings_ms"] = TimingsJson(timings);
  return DumpJson(reply);
}

std::string ChunkJson(const AnswerFormat& format, const ReplyHead& head, OrderedJson choices,
                      const OrderedJson& more) {
  OrderedJson chunk = Envelope(head, format.chunk_object());
  chunk["choices"] = std::move(choices);
  chunk.update(more);
  return DumpJson(chunk);
}

}  // namespace saccade
