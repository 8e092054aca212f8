// app/api/notes/route.ts
import { latchkey } from '../../../latchkey'
import { notesOf } from '../../../notes'

export const GET = latchkey.route((_, { user }) => Response.json(notesOf(user.id)))
