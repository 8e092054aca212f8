// app/greeting.tsx
'use client'

import { SignedIn, SignedOut, useUser } from '@latchkey/client/react'

export const Greeting = () => {
  const user = useUser()
  return (
    <header>
      <SignedIn>Signed in as {user?.username}</SignedIn>
      <SignedOut>Not signed in</SignedOut>
    </header>
  )
}
