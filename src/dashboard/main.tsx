import '@mantine/core/styles.css';
import './styles.css';
import { createTheme, MantineProvider } from '@mantine/core';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';
import { createApi } from './api.ts';
import { ConnectionContext, type ConnectionSeen } from './connection.tsx';
import { router } from './router.tsx';
import { useSession } from './session/session.ts';
import { SignIn } from './session/sign-in.tsx';

declare global {
  /** Where libraries that write styles look for what the policy of the page lets pass. */
  var __webpack_nonce__: string | undefined;
}

const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
globalThis.__webpack_nonce__ = nonce;

const theme = createTheme({ primaryShade: 8, fontFamily: 'system-ui, sans-serif', cursorType: 'pointer', respectReducedMotion: true });
const unconnected: ConnectionSeen = { state: 'idle', reason: null };

function App() {
  const { token, why } = useSession();
  return token === null ? <SignIn why={why} /> : <SignedIn key={token} token={token} />;
}

function SignedIn({ token }: { readonly token: string }) {
  const [seen, setSeen] = useState(unconnected);
  const api = useMemo(() => createApi(token, (state, reason) => setSeen({ state, reason: reason ?? null })), [token]);
  useEffect(() => () => setSeen(unconnected), []);
  return (
    <Provider value={api}>
      <ConnectionContext value={seen}>
        <RouterProvider router={router} />
      </ConnectionContext>
    </Provider>
  );
}

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no #root.');
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <App />
    </MantineProvider>
  </StrictMode>,
);
