// app/page.tsx
import Link from 'next/link'
import { latchkey } from '../latchkey'

export default async function Home() {
  const auth = await latchkey.auth()
  return (
    <main>
      <h1>{auth ? `Hello ${auth.user.username}` : 'Hello'}</h1>
      <Link href="/notes">{auth ? 'Your notes' : 'Sign in'}</Link>
    </main>
  )
}
