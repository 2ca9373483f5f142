// The texts of a question that is asked page by page: pure functions from one request to the requests about
// its pages and to the one that combines their answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"

namespace saccade {

// Indices of the pictures that are pages.
std::vector<size_t> PageIndices(const ChatInput& input);

// The request about one page: without the other pages, with the page's text and the page prompt.
ChatInput PageInput(const ChatInput& input, size_t picture);

// "page 3", or "report.pdf, page 3" when the request has several documents.
std::string PageLabel(const PageAnswer& answer, bool with_document);
bool HasSeveralDocuments(const std::vector<PageAnswer>& answers);

// Whether a page's answer says something: neither nothing nor that the page does not tell.
bool IsAnswer(std::string_view text);

// What is said without asking the model again: that no page answers, the one answer, the same answer of
// several pages, or with `list` all of them. Empty when the answers have to be combined.
std::string DirectAnswer(const ChatInput& input, const std::vector<PageAnswer>& answers);

// The request that combines the answers that count.
ChatInput CombineInput(const ChatInput& input, const std::vector<PageAnswer>& answers);

// Marks the answers whose page `text` cites. When it cites none, all that count are, and the result is what
// to append to say so.
std::string MarkCitations(std::string_view text, std::vector<PageAnswer>& answers);

}  // namespace saccade
