import { Alert, Button, Card, Center, Code, Divider, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { signIn } from './session.ts';

const byProvider = document.querySelector('meta[name="packhorse-sign-in"]')?.getAttribute('content') === 'provider';

/** In place of the page, whose address stays: it is there again with the next token. */
export function SignIn({ why }: { readonly why: string | null }) {
  const [token, setToken] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== '') signIn(token);
  };
  return (
    <Center mih="100vh" p="md" component="main">
      <Card withBorder w="100%" maw={480} padding="lg">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h2">
              Packhorse
            </Title>
            {why !== null && (
              <Alert color="orange" variant="outline" title={why} role="alert">
                {byProvider ? 'Sign in again' : 'Sign in with a fresh token'}: this page is kept.
              </Alert>
            )}
            {byProvider && (
              <>
                <Button component="a" href={`/sign-in?${new URLSearchParams({ to: location.pathname + location.search })}`}>
                  Sign in
                </Button>
                <Divider label="or by an access token that you have" />
              </>
            )}
            <PasswordInput
              label="Access token"
              description="It is kept for this tab only, and is gone when the tab is closed."
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
            <Button type="submit" variant={byProvider ? 'default' : 'filled'}>
              {byProvider ? 'Use the token' : 'Sign in'}
            </Button>
            <Text size="sm" c="dimmed">
              The demo prints a link with one. Otherwise, in the clone that runs the server:{' '}
              <Code>npx packhorse token --permissions workspace:read --workspaces '*'</Code>
            </Text>
          </Stack>
        </form>
      </Card>
    </Center>
  );
}
