#pragma once

#include <cstdint>
#include <memory>

#include "columns.h"

// Arrow's C data and C stream interfaces: memory that programs hand each other without copying it
// (arrow.apache.org/docs/format/CDataInterface.html, whose names and layouts these are).
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace dlcost::python {

// A stream of one batch, the table whose columns are the fields of `rows`. Who takes it keeps the
// columns alive until it releases them; on a heap of its own, to be released and deleted.
ArrowArrayStream* NewStream(std::shared_ptr<const Column> rows);
void DeleteStream(ArrowArrayStream* stream);

}  // namespace dlcost::python
