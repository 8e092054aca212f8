// Pages of your own: signing in, enrolling, proving it again, adding a factor, taking an account back. packages/client/README.md explains it.
import { type Answer, createClient, type Proof } from '@latchkey/client'
import { safeReturnTo } from '@latchkey/client/return-to'
import { en, refusalSentence } from '@latchkey/client/words'

const client = createClient()
/** Asks the user for a text. `svg` is a picture that is shown with the question. */
declare const ask: (question: string, svg?: string) => Promise<string>
/** Shows a text until the user has pressed a button to go on. */
declare const show: (text: string) => Promise<void>

/** A path of this site, or a page of one of your ALLOWED_ORIGINS. Everything else is undefined. */
const goOn = () => {
  const wanted = new URLSearchParams(location.search).get('returnTo')
  location.replace(safeReturnTo(wanted, ['https://app.example.com']) ?? '/')
}

type Step = { next: string; methods?: readonly string[] }

const finishSignIn = async ({ next, methods = [] }: Step) => {
  switch (next) {
    case 'enrolment':
      return enrol()
    case 'terms':
    case 'profile':
      return answerLastStep()
    case 'registration': // only after confirmMailLogin: the address has no account yet
      return register()
    default:
      // The browser asks for the passkey. Offer the code only if "totp" is in the list.
      if (!methods.includes('totp')) return signInWithPasskey()
      return untilRight('wrong_second_factor', async () =>
        client.secondFactor({ code: await ask('The code of your app, or a recovery code') }),
      )
  }
}

/** Asks again after a mistake. After five of them the refusal is `challenge_over`. */
const untilRight = async <Value>(mistake: string, send: () => Promise<Answer<Value>>): Promise<Answer<Value>> => {
  const answer = await send()
  if (answer.refused !== mistake) return answer
  await show(refusalSentence(answer, en))
  return untilRight(mistake, send)
}

const agreeTo = async ({ url, version }: { url: string; version: string }) => {
  await show(`By going on you agree to ${url}`)
  return version
}

type AskedField = { key: string; labels: { en?: string }; type: string }

const askFor = async (fields: readonly AskedField[]) => {
  const values: Record<string, string | boolean> = {}
  for (const { key, labels, type } of fields) {
    const answer = await ask(labels.en ?? key)
    values[key] = type === 'boolean' ? answer === 'yes' : answer
  }
  return values
}

/** What the operator asks users for (TERMS_VERSION, PROFILE_FIELDS_FILE). */
const answerLastStep = async () => {
  const waiting = await client.checkSecondFactor()
  if (waiting.refused) return waiting
  const { terms, fields = [] } = waiting.value
  return client.secondFactor(terms ? { terms: await agreeTo(terms) } : { fields: await askFor(fields) })
}

/** The answer with `next: "registration"` has the same as `checkMailRegistration`: a proposed username, fields and terms. */
const register = async () => {
  const asked = await client.checkMailRegistration()
  if (asked.refused) return asked
  const { username, terms, fields } = asked.value
  await show(`Your username will be ${username}.`)
  return client.registerByMail({
    username,
    fields: await askFor(fields),
    ...(terms && { terms: await agreeTo(terms) }),
  })
}

/** The browser throws if the user closes its dialog: then nothing happens, and the page offers its buttons again. */
const cancelled = () => null

const signInWithPasskey = async () => {
  const options = await client.passkeyLoginOptions()
  if (options.refused) return options
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.value)
  const credential = await navigator.credentials.get({ publicKey }).catch(cancelled)
  if (!(credential instanceof PublicKeyCredential)) return undefined
  return client.passkeyLogin({ credential: credential.toJSON() })
}

const enter = async (answer: Answer<object> | undefined): Promise<void> => {
  if (!answer) return
  if (answer.refused) return show(refusalSentence(answer, en))
  const { value } = answer
  return 'next' in value ? enter(await finishSignIn(value as Step)) : goOn()
}

const openEnrolment = async () => {
  const waiting = await client.checkSecondFactor()
  if (waiting.refused) return waiting
  if (waiting.value.passwordRequired) return client.openEnrolmentByPassword({ password: await ask('Your password') })
  if (!waiting.value.mailedCodeRequired) return waiting
  const mailed = await client.mailEnrolmentCode()
  if (mailed.refused) return mailed
  return untilRight('wrong_mailed_code', async () =>
    client.openEnrolment({ mailedCode: await ask('The code in the mail') }),
  )
}

const enrol = async () => {
  const opened = await openEnrolment()
  if (opened.refused) return opened
  const begun = await client.beginTotpToSignIn()
  if (begun.refused) return begun
  const { qr } = begun.value // an SVG; begun.value.secret is for typing it
  const signedIn = await client.confirmTotpToSignIn({ code: await ask('The code that the app shows', qr) })
  if (!signedIn.refused) await show(signedIn.value.recoveryCodes.join('\n')) // shown once: let the user keep them
  return signedIn
}

const proofBy = async (methods: readonly string[]): Promise<Proof | undefined> => {
  if (methods.includes('totp')) return { code: await ask('The code of your app, or a recovery code') }
  if (methods.includes('password')) return { password: await ask('Your password') }
  if (methods.includes('mail')) {
    await client.mailStepUpCode()
    return { mailedCode: await ask('The code in the mail') }
  }
  const options = await client.stepUpPasskeyOptions()
  if (options.refused) return undefined
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.value)
  const credential = await navigator.credentials.get({ publicKey }).catch(cancelled)
  return credential instanceof PublicKeyCredential ? { credential: credential.toJSON() } : undefined
}

const withFreshSignIn = async <Value>(call: () => Promise<Answer<Value>>): Promise<Answer<Value>> => {
  const first = await call()
  if (first.refused !== 'fresh_sign_in_required') return first
  const proof = await proofBy(first.methods ?? [])
  if (!proof) return first
  const proven = await client.stepUp(proof)
  return proven.refused ? proven : call()
}

export const addApp = async () => {
  const begun = await withFreshSignIn(() => client.beginTotp())
  if (begun.refused) return begun
  const confirmed = await client.confirmTotp({ code: await ask('The code that the app shows', begun.value.qr) })
  if (!confirmed.refused) await show(confirmed.value.recoveryCodes.join('\n'))
  return confirmed
}

export const addPasskey = async () => {
  const options = await withFreshSignIn(() => client.passkeyOptions())
  if (options.refused) return options
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.value)
  const credential = await navigator.credentials.create({ publicKey }).catch(cancelled)
  if (!(credential instanceof PublicKeyCredential)) return undefined
  return client.addPasskey({ credential: credential.toJSON(), name: 'My laptop' })
}

export const takeBack = (token: string, password: string) =>
  token.startsWith('email-') ? client.undoEmail({ token, password }) : client.undoFactor({ token, password })

// After a provider, or a link from another site, the first request has no cookies, although there is a session.
const visitor = await client.me()
if (visitor.refused)
  await enter(await client.login({ username: await ask('Username'), password: await ask('Password') }))
else goOn()
