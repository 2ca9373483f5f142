// The process-wide state of libvips: start-up, log messages and the shared error buffer.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "image/sniff.h"

namespace saccade {

// Brackets the libvips calls of one picture and turns their failure into a sentence. The error buffer of
// libvips is one per process, so its text is quoted only when no other picture was decoded meanwhile: nobody
// is ever told about somebody else's file. Create one per call, on the stack.
class VipsErrorScope {
 public:
  explicit VipsErrorScope(ImageKind kind);
  ~VipsErrorScope();
  VipsErrorScope(const VipsErrorScope&) = delete;
  VipsErrorScope& operator=(const VipsErrorScope&) = delete;

  // kInvalidArgument: "the JPEG picture is damaged or cut short (premature end of input file)".
  Status Damaged() const;

 private:
  std::string Detail() const;
  bool Alone() const;

  ImageKind kind_;
  bool started_alone_;
  uint64_t generation_;
};

}  // namespace saccade
