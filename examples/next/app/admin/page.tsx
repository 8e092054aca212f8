// app/admin/page.tsx
import { latchkey } from '../../latchkey'

export default async function Admin() {
  const { user } = await latchkey.requireAuth({ group: 'admins', fresh: '10m', factors: 2 })
  return <h1>Hello administrator {user.username}</h1>
}
