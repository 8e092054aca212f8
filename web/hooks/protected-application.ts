import { useEffect, useState } from 'preact/hooks'
import { askService } from '../browser/client.js'
import { addressByService } from '../browser/navigation.js'

type ProtectedApplication = { name: string; home: string }

/** The application behind a proxy to which the page leads; undefined until the service has said so, and if it is none. */
export const useProtectedApplication = (returnTo: string | undefined) => {
  const [application, setApplication] = useState<ProtectedApplication>()
  const address = addressByService(returnTo)
  useEffect(() => {
    if (address === undefined) return
    const ask = async () => {
      const answer = await askService<ProtectedApplication>(`return/application?to=${encodeURIComponent(address)}`)
      if (!answer.refused) setApplication(answer.value)
    }
    void ask()
  }, [address])
  return application
}
