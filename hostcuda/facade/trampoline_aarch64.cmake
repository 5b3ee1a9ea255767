# AArch64: a symbol jumps through its table slot. At first the slot leads to .Lfirst_N, which finds the function while
# all argument registers are kept, and goes on to it with the arguments untouched.
set(trampoline_begin [=[
  .text
.Lresolve:
  stp x29, x30, [sp, #-224]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov x0, x17
  bl tenonFacadeResolve
  mov x16, x0
  ldp q6, q7, [sp, #192]
  ldp q4, q5, [sp, #160]
  ldp q2, q3, [sp, #128]
  ldp q0, q1, [sp, #96]
  ldr x8, [sp, #80]
  ldp x6, x7, [sp, #64]
  ldp x4, x5, [sp, #48]
  ldp x2, x3, [sp, #32]
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #224
  br x16
]=])
set(trampoline [=[
  .globl @SYMBOL@
  .type @SYMBOL@, %function
  .p2align 4
@SYMBOL@:
  hint #34
  adrp x16, tenonFacadeTable + 8 * @INDEX@
  ldr x16, [x16, #:lo12:tenonFacadeTable + 8 * @INDEX@]
  br x16
.Lfirst_@INDEX@:
  hint #36
  mov x17, #@INDEX@
  b .Lresolve
  .size @SYMBOL@, . - @SYMBOL@
]=])
set(table_begin [=[
  .data
  .p2align 3
  .globl tenonFacadeTable
  .hidden tenonFacadeTable
  .type tenonFacadeTable, %object
tenonFacadeTable:
]=])
set(table_end [=[
  .size tenonFacadeTable, . - tenonFacadeTable
  .section .note.GNU-stack,"",%progbits
]=])
