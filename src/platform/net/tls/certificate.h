// Reads what a certificate says about itself.
#pragma once

#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::tls {

// When the first certificate of a PEM text expires (notAfter); ignores everything else in the text.
// Errors: InvalidArgument (no certificate, too large, an invalid date).
StatusOr<WallTime> EndOfCertificate(std::string_view pem);

}  // namespace kgpu::tls
