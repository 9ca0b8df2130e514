// Which sanitizer a test was built with: each costs memory, time and descriptors of its own.
#pragma once

// Source: sanitizer/lsan_interface.h. Only there with AddressSanitizer.
extern "C" {
void __lsan_disable();  // NOLINT(bugprone-reserved-identifier): the sanitizer's own
void __lsan_enable();   // NOLINT(bugprone-reserved-identifier)
}

namespace kgpu {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kHasThreadSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif

inline constexpr bool kIsSanitized = kHasAddressSanitizer || kHasThreadSanitizer;

// With either sanitizer a test takes up to twenty times as long: a long one that ends a program at
// every moment does so at every fifth.
inline constexpr int kMomentStep = kIsSanitized ? 5 : 1;

// What this thread allocates while one exists may be lost, as by a library that is unloaded.
class LeaksAllowed {
 public:
  LeaksAllowed() {
    if constexpr (kHasAddressSanitizer) {
      __lsan_disable();
    }
  }
  ~LeaksAllowed() {
    if constexpr (kHasAddressSanitizer) {
      __lsan_enable();
    }
  }
  LeaksAllowed(const LeaksAllowed&) = delete;
  LeaksAllowed& operator=(const LeaksAllowed&) = delete;
};

}  // namespace kgpu
