// The injection book in its place on a host.
#pragma once

#include "src/container/inject/book.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::inject {

// Makes the book of `host` (its root) hold this. True when that wrote the file anew, false when it
// was right already. Readers see the old book or the new one.
// Errors: PermissionDenied, FailedPrecondition (read-only), ResourceExhausted (full).
StatusOr<bool> WriteBook(const sys::Root& host, const Book& book);

// Errors: NotFound (none was written since the host's start), InvalidArgument and
// FailedPrecondition as ParseBook, PermissionDenied.
StatusOr<Book> ReadBook(const sys::Root& host);

}  // namespace kgpu::inject
