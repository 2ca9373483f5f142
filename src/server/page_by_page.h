// Long documents: a question is asked about each page, then the answers of the pages are combined, with the
// pages they come from. To everybody else it is one request with one answer.
#pragma once

#include <memory>

#include "base/status.h"
#include "server/chat_backend.h"

namespace saccade {

// backend->Prepare(input), unless `input` wants its pages asked about one by one. Then pictures that are not
// pages are shown with every page, and the answer's FinishedEvent has what each page said; the usage is that
// of all prompts together. An answer in which the model cites no page gets the citations appended.
// Thread-safe.
Result<std::shared_ptr<PreparedChat>> PrepareChat(const std::shared_ptr<ChatBackend>& backend,
                                                  const ChatInput& input);

// backend.Estimate(input), or the sum over the pages.
Result<RequestEstimate> EstimateChat(const ChatBackend& backend, const ChatInput& input);

}  // namespace saccade
