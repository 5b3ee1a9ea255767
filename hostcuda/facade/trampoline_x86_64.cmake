# x86-64: a symbol jumps through its table slot. At first the slot leads to .Lfirst_N, which finds the function while
# all argument registers are kept, and goes on to it with the arguments untouched.
set(trampoline_begin [=[
  .text
.Lresolve:
  .cfi_startproc
  .cfi_adjust_cfa_offset 8
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rax
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %r10
  andq $-16, %rsp
  subq $128, %rsp
  movdqa %xmm0, (%rsp)
  movdqa %xmm1, 16(%rsp)
  movdqa %xmm2, 32(%rsp)
  movdqa %xmm3, 48(%rsp)
  movdqa %xmm4, 64(%rsp)
  movdqa %xmm5, 80(%rsp)
  movdqa %xmm6, 96(%rsp)
  movdqa %xmm7, 112(%rsp)
  movq 8(%rbp), %rdi
  call tenonFacadeResolve
  movq %rax, %r11
  movdqa (%rsp), %xmm0
  movdqa 16(%rsp), %xmm1
  movdqa 32(%rsp), %xmm2
  movdqa 48(%rsp), %xmm3
  movdqa 64(%rsp), %xmm4
  movdqa 80(%rsp), %xmm5
  movdqa 96(%rsp), %xmm6
  movdqa 112(%rsp), %xmm7
  leaq -64(%rbp), %rsp
  popq %r10
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rax
  popq %rbp
  .cfi_def_cfa %rsp, 16
  .cfi_restore %rbp
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  jmp *%r11
  .cfi_endproc
]=])
set(trampoline [=[
  .globl @SYMBOL@
  .type @SYMBOL@, @function
  .p2align 4
@SYMBOL@:
  .cfi_startproc
  endbr64
  jmp *(tenonFacadeTable + 8 * @INDEX@)(%rip)
.Lfirst_@INDEX@:
  endbr64
  pushq $@INDEX@
  jmp .Lresolve
  .cfi_endproc
  .size @SYMBOL@, . - @SYMBOL@
]=])
set(table_begin [=[
  .data
  .p2align 3
  .globl tenonFacadeTable
  .hidden tenonFacadeTable
  .type tenonFacadeTable, @object
tenonFacadeTable:
]=])
set(table_end [=[
  .size tenonFacadeTable, . - tenonFacadeTable
  .section .note.GNU-stack,"",@progbits
]=])
