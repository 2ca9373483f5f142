// Body of a loop of twelve independent instructions, one per accumulator, written as text so that no compiler
// merges or drops them. Included by ISA files only.
#pragma once

#define SACCADE_PEAK_LOOP(Vector, zero, constraint, instruction, operations_each)                          \
  Vector a0 = zero, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0, a8 = a0, a9 = a0,       \
         a10 = a0, a11 = a0;                                                                               \
  const Vector b = a0;                                                                                     \
  for (int64_t i = 0; i < loop.iterations; ++i) {                                                          \
    asm volatile(instruction                                                                               \
                 " %12, %12, %0\n" instruction " %12, %12, %1\n" instruction " %12, %12, %2\n" instruction \
                 " %12, %12, %3\n" instruction " %12, %12, %4\n" instruction " %12, %12, %5\n" instruction \
                 " %12, %12, %6\n" instruction " %12, %12, %7\n" instruction " %12, %12, %8\n" instruction \
                 " %12, %12, %9\n" instruction " %12, %12, %10\n" instruction " %12, %12, %11\n"           \
                 : constraint(a0), constraint(a1), constraint(a2), constraint(a3), constraint(a4),         \
                   constraint(a5), constraint(a6), constraint(a7), constraint(a8), constraint(a9),         \
                   constraint(a10), constraint(a11)                                                        \
                 : "x"(b));                                                                                \
  }                                                                                                        \
  *loop.operations = loop.iterations * 12 * (operations_each)
