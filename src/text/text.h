// Facade of the text layer: tokenizer, chat template, sampling, stop strings.
#pragma once

// IWYU pragma: begin_exports
#include "text/answer_boxes.h"
#include "text/chat_template.h"
#include "text/messages.h"
#include "text/sampler.h"
#include "text/stop.h"
#include "text/stream_decoder.h"
#include "text/template_file.h"
#include "text/tokenizer.h"
// IWYU pragma: end_exports
