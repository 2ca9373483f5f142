# Compiler flags per kernel file suffix. Only files named *_<isa>.cc may use that ISA's instructions;
# tools/check_isa_symbols.py asserts that they export nothing but what kernels.inc lists.
set(SACCADE_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
# GCC 12 takes the deliberately undefined operands inside its own <immintrin.h> for mistakes (GCC bug 105593).
set(SACCADE_ISA_FLAGS_avx512
    -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mbmi2 -mprefer-vector-width=512
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>)
set(SACCADE_ISA_FLAGS_avx512vnni ${SACCADE_ISA_FLAGS_avx512} -mavx512vnni)
set(SACCADE_ISA_FLAGS_avx512bf16 ${SACCADE_ISA_FLAGS_avx512} -mavx512vnni -mavx512bf16)

function(saccade_apply_isa_flags)
  foreach(file IN LISTS ARGN)
    foreach(isa avx2 avx512 avx512vnni avx512bf16)
      if(file MATCHES "_${isa}\\.cc$")
        set_source_files_properties("${file}" PROPERTIES
          COMPILE_OPTIONS "${SACCADE_ISA_FLAGS_${isa}}" SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endforeach()
  endforeach()
endfunction()
