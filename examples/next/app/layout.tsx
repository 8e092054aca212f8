// app/layout.tsx
import { LatchkeyProvider } from '@latchkey/client/react'
import type { ReactNode } from 'react'
import { latchkey } from '../latchkey'
import { Greeting } from './greeting'

export default async function Layout({ children }: { children: ReactNode }) {
  const auth = await latchkey.auth()
  return (
    <html lang="en">
      <body>
        <LatchkeyProvider baseUrl={process.env.LATCHKEY_URL} user={auth?.user ?? null}>
          <Greeting />
          {children}
        </LatchkeyProvider>
      </body>
    </html>
  )
}
