#include "server/page_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "server/document_parts.h"

namespace saccade {
namespace {

constexpr std::string_view kNotHere = "NOT ON THIS PAGE";
constexpr std::string_view kPagePrompt =
    "\n\nThis is one page of a longer document. Answer briefly and from this page alone. If it does not "
    "contain the "
    "answer, reply with exactly: NOT ON THIS PAGE";

// Bytes of other alphabets than Latin: Chinese questions get Chinese fixed sentences.
bool IsChinese(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xE4; });
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// A Latin letter or digit, or the first byte of a character of another alphabet but not of its punctuation.
bool IsOfAWord(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || (byte >= 0xC3 && byte != 0xE2 && byte != 0xE3 && byte != 0xEF);
}

const Message* LastUserMessage(const Conversation& conversation) {
  for (auto it = conversation.messages.rbegin(); it != conversation.messages.rend(); ++it) {
    if (it->role == Role::kUser) return &*it;
  }
  return nullptr;
}

std::string Question(const ChatInput& input) {
  std::string question;
  const Message* message = LastUserMessage(input.conversation);
  if (message == nullptr) return question;
  for (const ContentPart& part : message->parts) {
    if (part.kind == ContentPart::Kind::kText) question += part.text;
  }
  return question;
}

// "[page 3] [page 7]"
std::string Labels(const std::vector<PageAnswer>& answers) {
  const bool several = HasSeveralDocuments(answers);
  std::string labels;
  for (const PageAnswer& answer : answers) {
    if (!answer.counts) continue;
    if (!labels.empty()) labels += ' ';
    labels += fmt::format("[{}]", PageLabel(answer, several));
  }
  return labels;
}

// "page 1" is not in "page 13".
bool Cites(std::string_view text, std::string_view label) {
  for (size_t at = 0; (at = text.find(label, at)) != std::string_view::npos; ++at) {
    const size_t end = at + label.size();
    if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

}  // namespace

std::vector<size_t> PageIndices(const ChatInput& input) {
  std::vector<size_t> pages;
  for (size_t i = 0; i < input.pictures.size(); ++i) {
    if (input.pictures[i].page > 0) pages.push_back(i);
  }
  return pages;
}

ChatInput PageInput(const ChatInput& input, size_t picture) {
  ChatInput result = input;
  result.page_by_page.reset();
  result.pictures.clear();
  result.options.top_logprobs = std::max(input.options.top_logprobs, 0);  // for the confidence
  size_t index = 0;
  for (Message& message : result.conversation.messages) {
    std::vector<ContentPart> parts;
    for (ContentPart& part : message.parts) {
      const bool is_picture = part.kind == ContentPart::Kind::kImage;
      const size_t i = index;
      index += is_picture;
      if (is_picture && input.pictures[i].page > 0 && i != picture) continue;
      parts.push_back(std::move(part));
      if (!is_picture) continue;
      result.pictures.push_back(input.pictures[i]);
      if (input.pictures[i].page_text.empty()) continue;
      parts.emplace_back().text = PageTextPart(input.pictures[i].page_text);
    }
    message.parts = std::move(parts);
  }
  const std::string prompt = input.page_by_page->page_prompt.value_or(std::string(kPagePrompt));
  for (auto it = result.conversation.messages.rbegin(); it != result.conversation.messages.rend(); ++it) {
    if (it->role != Role::kUser || prompt.empty()) continue;
    it->parts.emplace_back().text = prompt;
    it->content_is_string = false;
    break;
  }
  return result;
}

std::string PageLabel(const PageAnswer& answer, bool with_document) {
  if (!with_document || answer.document.empty()) return fmt::format("page {}", answer.page);
  return fmt::format("{}, page {}", answer.document, answer.page);
}

bool HasSeveralDocuments(const std::vector<PageAnswer>& answers) {
  return std::any_of(answers.begin(), answers.end(),
                     [&](const PageAnswer& answer) { return answer.document != answers.front().document; });
}

bool IsAnswer(std::string_view text) {
  if (std::none_of(text.begin(), text.end(), IsOfAWord)) return false;
  std::string upper(text.substr(0, 200));
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return upper.find(kNotHere) == std::string::npos;
}

std::string DirectAnswer(const ChatInput& input, const std::vector<PageAnswer>& answers) {
  std::vector<const PageAnswer*> counting;
  for (const PageAnswer& answer : answers) {
    if (answer.counts) counting.push_back(&answer);
  }
  if (counting.empty()) {
    return IsChinese(Question(input)) ? "没有哪一页回答了这个问题。" : "None of the pages answers this.";
  }
  const bool several = HasSeveralDocuments(answers);
  if (input.page_by_page->list && counting.size() > 1) {
    std::string list;
    for (const PageAnswer* answer : counting) {
      if (!list.empty()) list += '\n';
      list += fmt::format("[{}] {}", PageLabel(*answer, several), Trimmed(answer->text));
    }
    return list;
  }
  const std::string_view first = Trimmed(counting.front()->text);
  const bool alike = std::all_of(counting.begin(), counting.end(),
                                 [&](const PageAnswer* answer) { return Trimmed(answer->text) == first; });
  return alike ? fmt::format("{} {}", first, Labels(answers)) : "";
}

ChatInput CombineInput(const ChatInput& input, const std::vector<PageAnswer>& answers) {
  const bool several = HasSeveralDocuments(answers);
  std::string text = "The pages of a document were read one by one. What they say about the question:\n\n";
  for (const PageAnswer& answer : answers) {
    if (answer.counts) text += fmt::format("[{}] {}\n", PageLabel(answer, several), Trimmed(answer.text));
  }
  text += fmt::format(
      "\nQuestion: {}\n\nAnswer the question from these notes alone, in the language of the question. After "
      "each "
      "statement cite where it comes from, in brackets as above.",
      Question(input));
  ChatInput result;
  result.options = input.options;
  result.priority = input.priority;
  result.user = input.user;
  result.cache_scope = input.cache_scope;
  for (const Message& message : input.conversation.messages) {
    if (message.role == Role::kSystem) result.conversation.messages.push_back(message);
  }
  result.conversation.messages.push_back(Message::Text(Role::kUser, std::move(text)));
  return result;
}

std::string MarkCitations(std::string_view text, std::vector<PageAnswer>& answers) {
  const bool several = HasSeveralDocuments(answers);
  bool any = false;
  for (PageAnswer& answer : answers) {
    answer.cited = answer.counts && Cites(text, PageLabel(answer, several));
    any |= answer.cited;
  }
  const std::string labels = Labels(answers);
  if (any || labels.empty()) return "";
  for (PageAnswer& answer : answers) answer.cited = answer.counts;
  return " " + labels;
}

}  // namespace saccade
