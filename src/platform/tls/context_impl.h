// The parts of a Context, for Session.
#pragma once

#include "src/platform/tls/context.h"
#include "src/platform/tls/openssl.h"

namespace kgpu::tls {

struct Context::Impl {
  SslCtxPtr ssl;
  BioMethodPtr bio;  // for sessions: see session.cc
};

}  // namespace kgpu::tls
