import { expect, it } from 'vitest'
import { createTokens } from './tokens.js'

// Tokens of each release, as they are in the cookies of browsers: written down, never signed anew. A change after which one of
// them is refused signs users out, or fails a refresh that was given the successor of its token.
const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const issuedAt = Date.parse('2026-01-31T12:00:00Z') / 1000
const fiveMinutesLater = { now: () => new Date('2026-01-31T12:05:00Z'), offset: () => 0 }
const issuer = 'https://app.example.com'
const tokens = createTokens({ secrets: [secret], clock: fiveMinutesLater, issuer })

const access = 'eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6IlN0UVNONmtWIn0'
const refresh = 'eyJhbGciOiJIUzI1NiIsInR5cCI6InJ0K2p3dCIsImtpZCI6IlN0UVNONmtWIn0'
const who =
  'eyJ1c2VySWQiOiIwMTkwYzBkZS0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDEiLCJ1c2VybmFtZSI6ImFkYSIsInNpZCI6IjAxOTBjMGRlLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMiIs'

const owner = {
  userId: '0190c0de-0000-7000-8000-000000000001',
  username: 'ada',
  sid: '0190c0de-0000-7000-8000-000000000002',
  iat: issuedAt,
}

it('an access token of 0.1 is read', () => {
  const token = `${access}.${who}ImdlbiI6MywiaWF0IjoxNzY5ODYwODAwLCJleHAiOjE3Njk4NjE3MDAsImVtYWlsIjoiYWRhQGV4YW1wbGUuY29tIiwiYXV0aF90aW1lIjoxNzY5Nzc0NDAwLCJhbXIiOlsicHdkIiwib3RwIl0sIm1mYV90aW1lIjoxNzY5Njg4MDAwLCJzdWIiOiIwMTkwYzBkZS0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDEiLCJpc3MiOiJodHRwczovL2FwcC5leGFtcGxlLmNvbSIsImF1ZCI6Imh0dHBzOi8vYXBwLmV4YW1wbGUuY29tIiwibmFtZSI6IkFkYSBMb3ZlbGFjZSJ9.ydBf9boTt4K7hIP7n66MrS3vWMhT0jOzkP_jVCIgaPE`
  expect(tokens.readAccess(token)).toEqual({
    ...owner,
    gen: 3,
    exp: issuedAt + 15 * 60,
    email: 'ada@example.com',
    auth_time: issuedAt - 24 * 60 * 60,
    amr: ['pwd', 'otp'],
    mfa_time: issuedAt - 48 * 60 * 60,
    sub: owner.userId,
    iss: issuer,
    aud: issuer,
    name: 'Ada Lovelace',
  })
})

it('a refresh token of 0.1 is read, and signed to the same bytes again', () => {
  const token = `${refresh}.${who}ImdlbiI6MywiYXV0aF90aW1lIjoxNzY5Nzc0NDAwLCJpYXQiOjE3Njk4NjA4MDAsImV4cCI6MTc3MjQ1MjgwMH0.2k2kKjKVIOFnlIrdnHN2PztBLThGIuBKEbDbjUnRans`
  const read = tokens.readRefresh(token)
  const claims = { ...owner, gen: 3, auth_time: issuedAt - 24 * 60 * 60, exp: issuedAt + 30 * 24 * 60 * 60 }
  expect(read).toEqual({ text: token, claims })
  // Two requests with one token get one successor: it is signed again from the claims, in the order in which they were read.
  expect(read && tokens.signRefresh(read.claims)).toBe(token)
})
