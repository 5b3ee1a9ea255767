# Writes, from a list of symbols, what the linker and the assembler need of a facade.
# Run with -DLIST= -DTAG= -DTRAMPOLINE= -DOUTPUT_DIR=; TRAMPOLINE is the file with one processor's instructions.
#   exports.map      the version script: each symbol under the tag, as in the real library
#   trampolines.S    one jump per symbol through a table that is filled at the first call
#   names.inc        the names in the order of the table
file(STRINGS ${LIST} symbols)
include(${TRAMPOLINE})

set(map "${TAG} {\n  global:\n")
set(names "")
set(code "${trampoline_begin}")
set(table "${table_begin}")
set(index 0)
foreach(symbol IN LISTS symbols)
  string(APPEND map "    ${symbol};\n")
  string(APPEND names "\"${symbol}\",\n")
  string(REPLACE "@SYMBOL@" "${symbol}" entry "${trampoline}")
  string(REPLACE "@INDEX@" "${index}" entry "${entry}")
  string(APPEND code "${entry}")
  string(APPEND table "  .quad .Lfirst_${index}\n")
  math(EXPR index "${index} + 1")
endforeach()
string(APPEND map "  local: *;\n};\n")

file(WRITE ${OUTPUT_DIR}/exports.map "${map}")
file(WRITE ${OUTPUT_DIR}/names.inc "${names}")
file(WRITE ${OUTPUT_DIR}/trampolines.S "${code}${table}${table_end}")
