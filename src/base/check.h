// Assertions for bugs, never for input: no byte from outside may be able to trip one. SACCADE_CHECK stays in
// every build; SACCADE_DCHECK only where SACCADE_CHECKS is set (presets dev, tsan, relcheck) or NDEBUG is
// not.
#pragma once

#include <string_view>

namespace saccade::internal {

[[noreturn]] void CheckFailed(std::string_view expression, std::string_view file, int line);

}  // namespace saccade::internal

#define SACCADE_CHECK(condition) \
  ((condition) ? void() : ::saccade::internal::CheckFailed(#condition, __FILE__, __LINE__))

#if defined(SACCADE_CHECKS) || !defined(NDEBUG)
#define SACCADE_DCHECK(condition) SACCADE_CHECK(condition)
#else
#define SACCADE_DCHECK(condition) ((void)sizeof(condition))
#endif
