// Which sanitizer a test was built with: each costs memory, time and descriptors of its own.
#pragma once

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

}  // namespace kgpu
