// The short forms for handing an error on, inside this project: a public header must not define macros for its users.
//
//   WD_ASSIGN(const Trailer trailer, ReadTrailer(file));   // the value, or return its error from here
//   WD_TRY(file.Sync());                                   // go on, or return its error from here
#pragma once

#include "core/result.h"

// Each use has a variable of its own, so that one may stand inside another.
#define WD_CONCAT_(a, b) a##b
#define WD_CONCAT(a, b) WD_CONCAT_(a, b)

#define WD_TRY_(temporary, expression)                    \
  do {                                                    \
    if (auto temporary = (expression); !temporary.ok()) { \
      return temporary.TakeError();                       \
    }                                                     \
  } while (false)
#define WD_TRY(expression) WD_TRY_(WD_CONCAT(wd_result_, __COUNTER__), expression)

#define WD_ASSIGN_(temporary, declaration, expression) \
  auto temporary = (expression);                       \
  if (!temporary.ok()) return temporary.TakeError();   \
  declaration = std::move(*temporary)
#define WD_ASSIGN(declaration, expression) WD_ASSIGN_(WD_CONCAT(wd_result_, __COUNTER__), declaration, expression)
