// The parts of a Context, for Session.
#pragma once

#include "src/platform/net/tls/context.h"
#include "src/platform/net/tls/openssl.h"

namespace kgpu::tls {

struct Context::Impl {
  SslCtxPtr ssl;
  BioMethodPtr bio;  // for sessions: see session.cc
};

}  // namespace kgpu::tls
