// dependent_lanes() over arrays, for each set of vector instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dependent_lanes.h"

// `size` is a multiple of 8; the arrays are aligned to 64 bytes.
using DependentWords = void (*)(const uint64_t* now,
                                const uint64_t* next,
                                size_t size,
                                const ramet::Mixture& mixture,
                                uint64_t* out);

template <typename L>
void dependent_words(const uint64_t* now,
                     const uint64_t* next,
                     size_t size,
                     const ramet::Mixture& mixture,
                     uint64_t* out) {
  for (size_t i = 0; i < size; i += sizeof(typename L::U64) / sizeof(uint64_t))
    L::store(out + i, ramet::dependent_lanes<L>(L::load(now + i), L::load(next + i), mixture));
}

DependentWords dependent_words_avx2();
DependentWords dependent_words_avx512();
