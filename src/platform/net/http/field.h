// The grammar of what a message's header consists of.
#pragma once

#include <string_view>

namespace kgpu::http {

// Methods and field names. Source: RFC 9110, 5.6.2.
bool IsToken(std::string_view text);

// Whether the text is a field's value as it is: no control characters but tabs, and no blank at
// either end, which a recipient would remove. Source: RFC 9110, 5.5.
bool IsFieldValue(std::string_view text);

// "a.example", "10.0.0.1:80", "[::1]:80", "": what the field Host may be. Source: RFC 9110, 7.2;
// RFC 3986, 3.2.2.
bool IsHost(std::string_view text);

}  // namespace kgpu::http
