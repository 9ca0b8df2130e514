// What a certificate says of itself.
#pragma once

#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::tls {

// When the first certificate of a PEM text ends (notAfter); what else the text holds is passed
// over. Errors: InvalidArgument (no certificate, too large, a date that is none).
StatusOr<WallTime> EndOfCertificate(std::string_view pem);

}  // namespace kgpu::tls
