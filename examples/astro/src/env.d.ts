declare namespace App {
  interface Locals {
    user: import('@latchkey/verify').Verified['user'] | undefined
  }
}
