// The injection index in its place on a host.
#pragma once

#include "src/container/inject/index.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::inject {

// Stores `index` on `host` (its root). Returns true if it wrote the file, false if it was up to
// date. Readers see the old index or the new one. Errors: PermissionDenied, FailedPrecondition
// (read-only), ResourceExhausted (full).
StatusOr<bool> WriteIndex(const sys::Root& host, const InjectionIndex& index);

// Errors: NotFound (none was written since boot), InvalidArgument and FailedPrecondition as
// ParseIndex, PermissionDenied.
StatusOr<InjectionIndex> ReadIndex(const sys::Root& host);

}  // namespace kgpu::inject
