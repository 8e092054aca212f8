import { applicationIdOf } from '#contract/pages.js'
import type { NamedApplication } from '#contract/schemas.js'
import { queryValue } from '../browser/navigation.js'
import { siteStorage, tabStorage } from '../browser/storage.js'
import { useProtectedApplication } from '../hooks/protected-application.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'

type Props = {
  returnTo: string | undefined
  /** The step that the visitor takes on this page. */
  step?: 'sign-in' | 'other'
  /** The application whose request waits in another browser, if this browser has none (see `GoBack`). */
  applicationElsewhere?: NamedApplication | undefined
}

/** Says to which application the page leads. Shows nothing if the visitor does not come from an application. */
export const ContinuesTo = ({ returnTo, step = 'other', applicationElsewhere }: Props) => {
  const words = useWords('common')
  const behindProxy = useProtectedApplication(returnTo)
  const nameInThisBrowser = nameOfApplicationIn(returnTo) ?? behindProxy?.name
  const application = nameInThisBrowser ?? applicationElsewhere?.name
  if (application === undefined) return null
  const sentence = step === 'sign-in' ? words.toContinueTo : words.thenContinueTo
  return <p class="lead">{fill(nameInThisBrowser === undefined ? words.thenGoBack : sentence, { application })}</p>
}

/**
 * For a mail that the user has opened in another browser than the one that the application sent to us. The request of the application
 * can be answered only in that other browser; in this one the user can begin a new request.
 */
export const GoBack = ({ application: { name, home } }: { application: NamedApplication }) => {
  const words = useWords('common')
  return (
    <>
      <p class="lead">{fill(words.goBack, { application: name })}</p>
      <a class="button primary" href={home}>
        {fill(words.startAt, { application: name })}
      </a>
    </>
  )
}

export const authorizePath = '/api/auth/authorize'
const key = 'latchkey.application'

/** The id of the request in a path of this site. A fragment may follow the query, so the path is parsed as a URL. */
const requestIdIn = (returnTo: string) => {
  if (!URL.canParse(returnTo, location.origin)) return null
  const { origin, pathname, searchParams } = new URL(returnTo, location.origin)
  return origin === location.origin && pathname === authorizePath ? searchParams.get('request') : null
}

/** For mails: the id of the application to which the visitor returns. */
export const applicationIdIn = (returnTo: string | undefined) => {
  const request = returnTo === undefined ? null : requestIdIn(returnTo)
  return request === null ? undefined : applicationIdOf(request) || undefined
}

/** The name is stored for other tabs, too, because a link in a mail opens a new one. */
export const rememberApplication = (request: string, name: string) => {
  for (const storage of [tabStorage, siteStorage]) storage.write(key, JSON.stringify({ request, name }))
}

const nameIn = (text: string | undefined, request: string) => {
  try {
    const stored = JSON.parse(text ?? '{}') as { request?: unknown; name?: unknown }
    return stored.request === request && typeof stored.name === 'string' ? stored.name : undefined
  } catch {
    return undefined
  }
}

/**
 * The name of the application that sent the visitor here, and to which they return. The service has told it to this browser for this
 * very request, so a link cannot make the page show another name.
 */
export const nameOfApplicationIn = (returnTo: string | undefined) => {
  const request = returnTo === undefined ? null : requestIdIn(returnTo)
  if (request === null) return undefined
  return nameIn(tabStorage.read(key), request) ?? nameIn(siteStorage.read(key), request)
}

/** The application that has sent the user here to add a second factor, and the way back to it. */
export const waitingApplication = () => {
  const returnTo = queryValue('returnTo')
  const name = nameOfApplicationIn(returnTo)
  return returnTo === undefined || name === undefined ? undefined : { name, returnTo }
}

/** Goes back to the application after a factor was added. True if there is one, so that the page is left. */
export const returnToApplication = () => {
  const waiting = waitingApplication()
  if (waiting) location.replace(waiting.returnTo)
  return waiting !== undefined
}
