import type { Verified } from '@latchkey/verify'

declare global {
  namespace App {
    interface Locals {
      user: Verified['user'] | undefined
    }
  }
}
